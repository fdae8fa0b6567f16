#include "schedule/split_reduction.h"

#include <algorithm>

#include "schedule/test_stages.h"

namespace gossamer::schedule {
namespace {

// C[i] = the largest of A[i, ..]
Stage largest(int64_t rows, Expr columns) {
  const Buffer a = ir::buffer("A", DType::f32, {index(rows), columns});
  const Var i = ir::var("i"), k = ir::var("k");
  Stage stage =
      sum(ir::buffer("C", DType::f32, {index(rows)}), {i}, {k}, {columns}, ir::load(a, {i, k}));
  stage.name = "largest";
  stage.combiner.joined = {ir::max(stage.combiner.left[0], stage.combiner.right[0])};
  stage.combiner.identity = {ir::lowest(DType::f32)};
  return stage;
}

std::vector<Stage> split(Stage stage, TargetKind target) {
  std::vector<Stage> stages{std::move(stage)};
  split_reductions(stages, capabilities_of(target));
  return stages;
}

TEST(SplitReduction, PointsOfGpusHaveFewTerms) {
  for (const TargetKind target : {TargetKind::webgpu, TargetKind::webgl}) {
    for (const int64_t length : {4096, 100'000, 999'983, 1'000'000}) {
      const std::vector<Stage> stages = split(largest(1, index(length)), target);
      EXPECT_GT(stages.size(), 1u);
      double terms = 0;
      for (const Stage& stage : stages) {
        const int64_t each = *ir::as_int(stage.reduce_extents[0]);
        EXPECT_LT(each, 4096);
        terms += static_cast<double>(each * *ir::as_int(stage.output->shape.back()));
      }
      EXPECT_LT(terms, static_cast<double>(length) * 1.2);
    }
  }
}

TEST(SplitReduction, ThreadsHavePartsAndEachSeveralAccumulators) {
  const std::vector<Stage> stages = split(largest(1, index(1'000'000)), TargetKind::cpu);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(*ir::as_int(stages[0].extents.back()), 16);
  EXPECT_EQ(stages[0].combiner.left.size(), 4u);
  EXPECT_EQ(*ir::as_int(stages[0].reduce_extents[0]) * 16 * 4, 1'000'000);
}

TEST(SplitReduction, OthersStay) {
  EXPECT_EQ(split(largest(1, index(4000)), TargetKind::webgpu).size(), 1u);
  EXPECT_EQ(split(largest(1000, index(5000)), TargetKind::webgpu).size(), 1u);
  EXPECT_EQ(split(largest(1, ir::var("n")), TargetKind::webgpu).size(), 1u);
  Stage walk = largest(1, index(1'000'000));
  walk.in_order = true;
  EXPECT_EQ(split(std::move(walk), TargetKind::webgpu).size(), 1u);
}

}  // namespace
}  // namespace gossamer::schedule
