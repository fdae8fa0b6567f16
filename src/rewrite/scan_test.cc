// Scans: as loops, and taken apart for targets whose invocations walk a segment.
#include "rewrite/scan.h"

#include <algorithm>

#include "autoschedule/default_schedule.h"
#include "autoschedule/test_stages.h"

namespace gossamer::rewrite {
namespace {

using autoschedule::wasm;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

// C[i, j] = sum of A[i, 0..j] or A[0..i, j]
Stage running(Expr rows, Expr columns, size_t along, int64_t segment = 0) {
  const Buffer a = ir::buffer("A", DType::f32, {rows, columns});
  const Var i = ir::var("i"), j = ir::var("j");
  Stage stage = autoschedule::sum(ir::buffer("C", DType::f32, {rows, columns}), {i, j}, {}, {},
                                  ir::load(a, {i, j}));
  stage.kind = StageKind::scan;
  stage.name = "running";
  stage.along = along;
  stage.segment = segment;
  if (segment > 0) {
    const Buffer before = ir::buffer("B", DType::f32, {rows, ir::index(3)});
    stage.starts = {ir::load(before, {i, ir::floordiv(j, ir::index(segment))})};
  }
  return stage;
}

TEST(Scan, WritesAtEachStep) {
  EXPECT_EQ(
      autoschedule::loops(running(ir::index(3), ir::index(10), 1), "accumulate(j); bind(i, grid)"),
      R"(
  grid i in 0..3 {
    alloc acc: f32[1, 1]
    acc[0, 0] = 0.0
    for j in 0..10 {
      acc[0, 0] = acc[0, 0] + A[i, j]
      C[i, j] = acc[0, 0]
    }
  }
)");
}

TEST(Scan, HasAnAccumulatorForEachLane) {
  EXPECT_EQ(
      autoschedule::loops(running(ir::index(3), ir::index(8), 0),
                          "split(j, 4) -> j.tile, lane; reorder(j.tile, i, lane); accumulate(i); "
                          "vectorize(lane); bind(j.tile, grid)"),
      R"(
  grid j.tile in 0..2 {
    alloc acc: f32[1, 4]
    vectorized lane in 0..4 {
      acc[0, lane] = 0.0
    }
    for i in 0..3 {
      vectorized lane in 0..4 {
        acc[0, lane] = acc[0, lane] + A[i, j.tile * 4 + lane]
        C[i, j.tile * 4 + lane] = acc[0, lane]
      }
    }
  }
)");
}

TEST(Scan, SegmentsStartFromWhatIsBeforeThem) {
  EXPECT_EQ(autoschedule::loops(
                running(ir::index(1), ir::index(10), 1, 4),
                "split(j, 4, guard) -> j.segment, j; accumulate(j); fuse(i, j.segment) -> item; "
                "bind(item, grid)"),
            R"(
  grid item in 0..3 {
    alloc acc: f32[1, 1]
    acc[0, 0] = B[0, item]
    for j in 0..4 {
      if item * 4 + j < 10 {
        acc[0, 0] = acc[0, 0] + A[0, item * 4 + j]
        C[0, item * 4 + j] = acc[0, 0]
      }
    }
  }
)");
}

TEST(Scan, OrderOfItsAxisIsKept) {
  const Stage whole = running(ir::index(3), ir::index(10), 1),
              cut = running(ir::index(1), ir::index(10), 1, 4);
  EXPECT_EQ(autoschedule::loops(whole, "bind(j, grid)"),
            "bind(j, grid): cannot bind j to grid: its iterations follow each other (split it by "
            "the scan's segment)");
  EXPECT_EQ(autoschedule::loops(whole, "vectorize(j)"),
            "vectorize(j): cannot vectorize j: its iterations follow each other");
  EXPECT_EQ(autoschedule::loops(whole, "split(j, 2)"),
            "split(j, 2): cannot split j: its iterations follow each other");
  EXPECT_EQ(autoschedule::loops(cut, "split(j, 2)"),
            "split(j, 2): cannot split j: its iterations follow each other (split it by the scan's "
            "segment of 4)");
  EXPECT_EQ(autoschedule::loops(whole, "fuse(i, j) -> item"),
            "fuse(i, j) -> item: cannot fuse j: its iterations follow each other");
  EXPECT_EQ(
      autoschedule::loops(whole, "reorder(j, i); accumulate(i); unit() -> item; bind(item, grid)"),
      "schedule of \"running\": the scan's loop j is outside of the accumulators, which "
      "start before i");
  EXPECT_EQ(autoschedule::loops(cut, "accumulate(j); bind(i, grid)"),
            "schedule of \"running\": the scan's axis is not split by its segment");
}

int count(const std::vector<Stage>& stages, StageKind kind) {
  return static_cast<int>(std::ranges::count(stages, kind, &Stage::kind));
}

TEST(SplitScans, StagesGrowWithTheLogarithmOfTheAxis) {
  const Capabilities webgpu = target::capabilities_of(TargetKind::webgpu);
  const auto stages_of = [&](Expr columns, const Capabilities& caps) {
    std::vector<Stage> stages{running(ir::index(2), columns, 1)};
    split_scans(stages, caps);
    return stages;
  };
  EXPECT_EQ(stages_of(ir::index(64), webgpu).size(), 1u);
  EXPECT_EQ(stages_of(ir::index(65), webgpu).size(), 3u);
  EXPECT_EQ(stages_of(ir::index(1'000'000), webgpu).size(), 7u);
  EXPECT_EQ(stages_of(ir::index(1'000'000), wasm).size(), 1u);
  const auto unknown = stages_of(ir::var("n"), webgpu);
  EXPECT_EQ(unknown.size(), 5u);
  // A fragment writes its own texel: no scan is left.
  const auto gathered = stages_of(ir::index(1'000'000), target::capabilities_of(TargetKind::webgl));
  EXPECT_EQ(count(gathered, StageKind::scan), 0);
  EXPECT_EQ(gathered.size(), 9u);
  // What a point looks at is bounded, so the work of a stage is that of its points.
  for (const Stage& stage : gathered) {
    for (const Expr& extent : stage.reduce_extents) EXPECT_LE(*ir::as_int(extent), 16);
  }
}

}  // namespace
}  // namespace gossamer::rewrite
