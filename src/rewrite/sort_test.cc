// Sorts taken apart: runs by counting, then merges.
#include "rewrite/sort.h"

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

// Where the first `wanted` of `length` elements lie, the least one first.
Stage ordered(Expr length, Expr wanted) {
  const Buffer a = ir::buffer("A", DType::f32, {length});
  const Var i = ir::var("i"), r = ir::var("r");
  const Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
  Stage stage;
  stage.kind = StageKind::sort;
  stage.name = "ordered";
  stage.output = ir::buffer("P", DType::i32, {wanted});
  stage.axes = {i};
  stage.extents = {wanted};
  stage.reduce_axes = {r};
  stage.reduce_extents = {length};
  stage.values = {ir::load(a, {r})};
  stage.accumulators = {{left, right, Expr(left) < Expr(right), {}}};
  return stage;
}

std::vector<Stage> merged(Expr length, Expr wanted, const Capabilities& caps = wasm) {
  std::vector<Stage> stages{ordered(length, wanted)};
  merge_sorts(stages, caps);
  return stages;
}

TEST(MergeSorts, StagesGrowWithTheLogarithmOfTheAxis) {
  EXPECT_EQ(merged(ir::index(16), ir::index(16)).size(), 2u);  // ranks, places
  EXPECT_EQ(merged(ir::index(32), ir::index(32)).size(), 3u);  // and a merge
  // Whole segments need no search where they start; keys of runs that are not whole are copied.
  EXPECT_EQ(merged(ir::index(1000), ir::index(10)).size(), 3u + 6u);
  EXPECT_EQ(merged(ir::index(4096), ir::index(10)).size(), 2u + 6u + 2u * 2u);
  const size_t dynamic = merged(ir::var("n"), ir::var("n")).size();
  EXPECT_LT(dynamic, 64u);
  EXPECT_GT(dynamic, 40u);
}

TEST(MergeSorts, TheLastOneMakesNoMoreThanIsWanted) {
  for (const Capabilities& caps : {wasm, target::capabilities_of(TargetKind::webgl)}) {
    const auto stages = merged(ir::index(4096), ir::index(10), caps);
    EXPECT_EQ(ir::as_int(stages.back().extents[0]), 10);
    EXPECT_EQ(stages.back().output->name, "P");
    EXPECT_TRUE(std::ranges::none_of(
        stages, [](const Stage& stage) { return stage.kind == StageKind::sort; }));
  }
}

TEST(MergeSorts, AFreeAxisCountsIn32Bits) {
  for (const Stage& stage : merged(ir::var("n"), ir::var("n"))) {
    EXPECT_EQ(stages::print(stage).find(std::to_string(int64_t{1} << 31)), std::string::npos)
        << stages::print(stage);
  }
}

TEST(MergeSorts, RunsLieAlongVectors) {
  const auto stages = merged(ir::index(64), ir::index(64));
  for (const Stage& stage : {stages[0], stages[1]}) {
    const std::string trace = to_string(autoschedule::default_schedule(stage, wasm));
    EXPECT_NE(trace.find("vectorize"), std::string::npos) << trace;
  }
}

}  // namespace
}  // namespace gossamer::rewrite
