// Sums weighted by a softmax as one launch, and where they stay several.
#include <gtest/gtest.h>

#include "schedule/group_stages.h"
#include "schedule/online.h"
#include "schedule/test_stages.h"

namespace gossamer::schedule {
namespace {

const Capabilities webgpu = capabilities_of(TargetKind::webgpu);

Buffer matrix(const char* name, Expr rows, Expr columns) {
  return ir::buffer(name, DType::f32, {std::move(rows), std::move(columns)});
}

// softmax(Q K') V.
struct WeightedSum {
  Buffer scores, peaks, weights, totals, out;
  ops::Program program;

  WeightedSum(Expr queries, Expr keys, int64_t width = 16)
      : scores(matrix("scores", queries, keys)),
        peaks(matrix("peaks", queries, ir::index(1))),
        weights(matrix("weights", queries, keys)),
        totals(matrix("totals", queries, ir::index(1))),
        out(matrix("out", queries, ir::index(width))) {
    const Buffer q = matrix("q", queries, ir::index(width)),
                 k = matrix("k", keys, ir::index(width));
    const Buffer v = matrix("v", keys, ir::index(width));
    const Var i = ir::var("i"), j = ir::var("j"), d = ir::var("d"), one = ir::var("one");
    const Expr zero = ir::index(0);
    program.push_back(
        sum(scores, {i, j}, {d}, {ir::index(width)}, ir::load(q, {i, d}) * ir::load(k, {j, d})));
    Stage peak = sum(peaks, {i, one}, {j}, {keys}, ir::load(scores, {i, j}));
    peak.combiner.joined = {ir::max(peak.combiner.left[0], peak.combiner.right[0])};
    peak.combiner.identity = {ir::lowest(DType::f32)};
    program.push_back(peak);
    program.push_back(map("weights", weights, {i, j},
                          ir::exp(ir::load(scores, {i, j}) - ir::load(peaks, {i, zero}))));
    program.push_back(sum(totals, {i, one}, {j}, {keys}, ir::load(weights, {i, j})));
    program.push_back(
        sum(out, {i, d}, {j}, {keys},
            ir::load(weights, {i, j}) / ir::load(totals, {i, zero}) * ir::load(v, {j, d})));
  }

  size_t launches(std::set<const ir::BufferNode*> kept = {}, const Capabilities& caps = webgpu) {
    kept.insert(out.get());
    return group_stages(program, {std::move(kept), {}}, caps).size();
  }
};

TEST(Online, IsOneLaunch) {
  EXPECT_EQ(WeightedSum(ir::index(37), ir::index(45)).launches(), 1U);
  const Var keys = ir::dimension("keys", 64);
  EXPECT_EQ(WeightedSum(ir::index(37), keys).launches(), 1U);
}

TEST(Online, ReadsBack) {
  WeightedSum weighted(ir::index(37), ir::index(45));
  const auto launched = group_stages(weighted.program, {{weighted.out.get()}, {}}, webgpu);
  const auto& group = std::get<Group>(launched[0]);
  const ScheduledGroup made = schedule_default(group, webgpu);
  EXPECT_EQ(made.schedules.size(), online_parts);
  EXPECT_EQ(made.group_size(), 128);
  const auto read = parse_schedules(group, webgpu, to_string(made.schedules));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(ir::print(*lower(group, *read)), ir::print(made.kernel));
}

// In the memory that every workgroup has.
TEST(Online, TilesFitInGroupMemory) {
  for (const int64_t rows : {37, 1 << 15}) {
    for (int64_t width = 16; width <= 256; width += 16) {
      WeightedSum weighted(ir::index(rows), ir::index(45), width);
      const auto launched = group_stages(weighted.program, {{weighted.out.get()}, {}}, webgpu);
      ASSERT_EQ(launched.size(), 1U) << rows << " x " << width;
      const auto& group = std::get<Group>(launched[0]);
      EXPECT_TRUE(schedule_at(group, webgpu, default_point(group, webgpu)))
          << rows << " x " << width;
    }
  }
}

TEST(Online, StoresScoresThatOthersRead) {
  WeightedSum weighted(ir::index(37), ir::index(45));
  EXPECT_GT(weighted.launches({weighted.scores.get()}), 1U);
  EXPECT_GT(weighted.launches({weighted.totals.get()}), 1U);
}

TEST(Online, StoresScoresOfFewOrShortRows) {
  EXPECT_GT(WeightedSum(ir::index(64), ir::index(64)).launches(), 1U);  // few workgroups
  EXPECT_GT(WeightedSum(ir::index(8), ir::index(45)).launches(), 1U);

  EXPECT_EQ(WeightedSum(ir::index(1 << 15), ir::index(64)).launches(), 1U);
}

TEST(Online, FewRowsOfARunStoreTheirScores) {
  WeightedSum weighted(ir::dimension("queries", 64), ir::index(45));
  const auto launched = group_stages(weighted.program, {{weighted.out.get()}, {}}, webgpu);
  ASSERT_EQ(launched.size(), 4U);
  for (size_t i = 0; i < launched.size(); ++i) {
    const auto& group = std::get<Group>(launched[i]);
    EXPECT_EQ(group.number, i == 3 ? RowCount::more : RowCount::few);
    EXPECT_EQ(group.form == GroupForm::online, i == 3);
    if (i == 0) EXPECT_EQ(ir::print(group.last().output->shape[0]), "min(queries, 8)");
  }
}

TEST(Online, IsForTargetsWithWorkgroups) {
  for (const TargetKind kind : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgl})
    EXPECT_GT(WeightedSum(ir::index(37), ir::index(45)).launches({}, capabilities_of(kind)), 1U);
}

TEST(Online, OtherSumsStay) {
  WeightedSum weighted(ir::index(37), ir::index(45));
  // Weights of the squared scores: the maximum is of something else.
  Stage& weights = *weighted.program[2].stage();
  const Expr score = ir::load(weighted.scores, {weights.axes[0], weights.axes[1]});
  weights.result =
      ir::exp(score * score - ir::load(weighted.peaks, {weights.axes[0], ir::index(0)}));
  EXPECT_GT(weighted.launches(), 1U);
}

}  // namespace
}  // namespace gossamer::schedule
