#include "rewrite/split_reduction.h"

#include <algorithm>

#include "autoschedule/test_stages.h"
#include "ir/simplify.h"
#include "stages/pattern.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using stages::Pattern;
using stages::Stage;

// C[i] = the largest of A[i, ..]
Stage largest(int64_t rows, Expr columns) {
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(rows), columns});
  const Var i = ir::var("i"), k = ir::var("k");
  Stage stage = autoschedule::sum(ir::buffer("C", DType::f32, {ir::index(rows)}), {i}, {k},
                                  {columns}, ir::load(a, {i, k}));
  stage.name = "largest";
  stage.accumulators[0].joined = ir::max(stage.accumulators[0].left, stage.accumulators[0].right);
  stage.accumulators[0].identity = ir::lowest(DType::f32);
  return stage;
}

std::vector<Stage> split(Stage stage, TargetKind target) {
  std::vector<Stage> stages{std::move(stage)};
  split_reductions(stages, target::capabilities_of(target));
  return stages;
}

TEST(SplitReduction, PointsOfGpusHaveFewTerms) {
  for (const TargetKind target : {TargetKind::webgpu, TargetKind::webgl}) {
    for (const int64_t length : {4096, 100'000, 999'983, 1'000'000}) {
      const std::vector<Stage> stages = split(largest(1, ir::index(length)), target);
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
  const std::vector<Stage> stages = split(largest(1, ir::index(1'000'000)), TargetKind::cpu);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(*ir::as_int(stages[0].extents.back()), 16);
  EXPECT_EQ(stages[0].accumulators.size(), 4u);
  EXPECT_EQ(*ir::as_int(stages[0].reduce_extents[0]) * 16 * 4, 1'000'000);
}

// The gradient of a convolution's weights: W[o, c, k, l] = sum of B[n, o, y, x] A[n, c, y + k, x +
// l].
Stage weights(int64_t outputs, int64_t side) {
  const Buffer a =
      ir::buffer("A", DType::f32, {ir::index(64), ir::index(8), ir::index(28), ir::index(28)});
  const Buffer b = ir::buffer("B", DType::f32,
                              {ir::index(64), ir::index(outputs), ir::index(24), ir::index(24)});
  const Buffer w = ir::buffer("W", DType::f32,
                              {ir::index(outputs), ir::index(8), ir::index(side), ir::index(side)});
  const Var o = ir::var("o"), c = ir::var("c"), k = ir::var("k"), l = ir::var("l");
  const Var n = ir::var("n"), y = ir::var("y"), x = ir::var("x");
  return autoschedule::sum(
      w, {o, c, k, l}, {n, y, x}, {ir::index(64), ir::index(24), ir::index(24)},
      ir::load(b, {n, o, y, x}) * ir::load(a, {n, c, Expr(y) + k, Expr(x) + l}));
}

TEST(SplitReduction, WeightsOfWindowsAreSummedInPartsOnGpus) {
  const std::vector<Stage> stages = split(weights(16, 5), TargetKind::webgpu);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].extents.size(), 5u);
  const int64_t parts = *ir::as_int(stages[0].extents.back());
  EXPECT_EQ(parts * *ir::as_int(stages[0].reduce_extents[0]), 64);
  EXPECT_GE(parts * 16 * 8 * 5 * 5, 1 << 15);
  // Vectors fill the rows, the points are many, or it is no GPU.
  EXPECT_EQ(split(weights(16, 4), TargetKind::webgpu).size(), 1u);
  EXPECT_EQ(split(weights(1024, 5), TargetKind::webgpu).size(), 1u);
  EXPECT_EQ(split(weights(16, 5), TargetKind::wasm).size(), 1u);
}

// O[c, y, x] = sum of W[c, d, k, l] A[d, y + k, x + l]
TEST(SplitReduction, ConvolutionsOfSmallImagesHaveTilesInstead) {
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(512), ir::index(9), ir::index(9)});
  const Buffer w =
      ir::buffer("W", DType::f32, {ir::index(512), ir::index(512), ir::index(3), ir::index(3)});
  const Buffer o = ir::buffer("O", DType::f32, {ir::index(512), ir::index(7), ir::index(7)});
  const Var c = ir::var("c"), y = ir::var("y"), x = ir::var("x");
  const Var d = ir::var("d"), k = ir::var("k"), l = ir::var("l");
  const Stage stage =
      autoschedule::sum(o, {c, y, x}, {d, k, l}, {ir::index(512), ir::index(3), ir::index(3)},
                        ir::load(w, {c, d, k, l}) * ir::load(a, {d, Expr(y) + k, Expr(x) + l}));
  EXPECT_EQ(split(stage, TargetKind::webgpu).size(), 1u);
  EXPECT_EQ(split(stage, TargetKind::webgl).size(), 2u);  // which has none
}

TEST(SplitReduction, ManyLongAxesAreSplitOneByOne) {
  const Buffer a =
      ir::buffer("A", DType::f32, {ir::index(64), ir::index(16), ir::index(24), ir::index(24)});
  const Var c = ir::var("c"), n = ir::var("n"), y = ir::var("y"), x = ir::var("x");
  const std::vector<Stage> stages = split(
      autoschedule::sum(ir::buffer("C", DType::f32, {ir::index(16)}), {c}, {n, y, x},
                        {ir::index(64), ir::index(24), ir::index(24)}, ir::load(a, {n, c, y, x})),
      TargetKind::webgpu);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(*ir::as_int(stages[0].extents.back()), 64);
}

TEST(SplitReduction, NoInvocationOfAGpuHasMoreRoundsThanItMay) {
  // However many points there are, known or not.
  EXPECT_EQ(split(largest(5000, ir::index(60'000)), TargetKind::webgpu).size(), 1u);
  EXPECT_GT(split(largest(5000, ir::index(70'000)), TargetKind::webgpu).size(), 1u);
  EXPECT_GT(split(largest(5000, ir::index(70'000)), TargetKind::webgl).size(), 1u);
  EXPECT_EQ(split(largest(5000, ir::index(70'000)), TargetKind::wasm).size(), 1u);
  Stage open = largest(1, ir::index(5000));
  open.extents = {ir::var("n")};
  EXPECT_GT(split(open, TargetKind::webgpu).size(), 1u);
  // Products have tiles for longer, then parts of neighbours.
  const auto product = [](int64_t steps) {
    const Buffer a = ir::buffer("A", DType::f32, {ir::index(512), ir::index(steps)});
    const Buffer b = ir::buffer("B", DType::f32, {ir::index(steps), ir::index(512)});
    const Var m = ir::var("m"), n = ir::var("n"), k = ir::var("k");
    return autoschedule::sum(ir::buffer("C", DType::f32, {ir::index(512), ir::index(512)}), {m, n},
                             {k}, {ir::index(steps)}, ir::load(a, {m, k}) * ir::load(b, {k, n}));
  };
  EXPECT_EQ(split(product(200'000), TargetKind::webgpu).size(), 1u);
  const std::vector<Stage> stages = split(product(300'000), TargetKind::webgpu);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(*ir::as_int(stages[0].extents.back()), 4);
  EXPECT_EQ(*ir::as_int(stages[0].reduce_extents[0]), 75'000);
  EXPECT_EQ(pattern_of(stages[0]), Pattern::contraction);
}

TEST(SplitReduction, InvocationsShareAnOpenAxis) {
  const std::vector<Stage> stages = split(largest(1, ir::var("n")), TargetKind::webgpu);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(*ir::as_int(stages[0].extents.back()), 256);
  EXPECT_EQ(ir::print(stages[0].reduce_extents[0]), "(n + 255) // 256");
  EXPECT_EQ(split(largest(1, ir::var("n")), TargetKind::cpu).size(), 1u);
  // The batch may be open as well: its size and the terms are estimated.
  const auto batch = [](Expr terms) {
    Stage stage = largest(8, terms);
    stage.extents = {ir::Expr(ir::dimension("batch", 1)) * ir::index(8)};
    return split(stage, TargetKind::webgpu).size();
  };
  EXPECT_EQ(batch(ir::dimension("size", 100'000)), 2u);
  EXPECT_EQ(batch(ir::dimension("size", 128)), 1u);
}

TEST(SplitReduction, PartsOfOpenLengthHaveBoundedRounds) {
  const auto rounds = [](const Stage& stage) {
    ir::Expr all = ir::index(1);
    for (const Expr& extent : stage.reduce_extents) all = all * extent;
    return ir::Bounds().of(ir::simplify(all)).high;
  };
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(512), ir::var("h"), ir::var("w")});
  const Var c = ir::var("c"), y = ir::var("y"), x = ir::var("x");
  const Stage image = autoschedule::sum(ir::buffer("C", DType::f32, {ir::index(512)}), {c}, {y, x},
                                        {ir::var("h"), ir::var("w")}, ir::load(a, {c, y, x}));
  for (const Stage& whole : {largest(1000, ir::var("n")), image}) {
    std::vector<Stage> made;
    split_rounds(whole, 32'768, target::capabilities_of(TargetKind::opengl), made);
    EXPECT_GT(made.size(), 1u);
    for (const Stage& stage : made) EXPECT_LE(rounds(stage), 65'536);
    EXPECT_TRUE(made.back().output.same(whole.output));
  }
}

TEST(SplitReduction, OthersStay) {
  EXPECT_EQ(split(largest(1, ir::index(4000)), TargetKind::webgpu).size(), 1u);
  EXPECT_EQ(split(largest(1000, ir::index(5000)), TargetKind::webgpu).size(), 1u);
  EXPECT_EQ(split(largest(1000, ir::var("n")), TargetKind::webgpu).size(), 1u);
  Stage walk = largest(1, ir::index(1'000'000));
  walk.in_order = true;
  EXPECT_EQ(split(std::move(walk), TargetKind::webgpu).size(), 1u);
}

}  // namespace
}  // namespace gossamer::rewrite
