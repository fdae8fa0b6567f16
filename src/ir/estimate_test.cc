#include "ir/estimate.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::ir {
namespace {

TEST(Estimate, EvaluatesExtentsAtTheirVariablesEstimates) {
  const Expr height = dimension("h", 224), batch = dimension("b", 1), other = var("n");
  EXPECT_EQ(estimate(index(7)), 7);
  EXPECT_EQ(estimate(floordiv(height + index(1), 2) * batch), 112);
  EXPECT_EQ(estimate(other), default_estimate);
  EXPECT_EQ(estimate(select(batch == index(1), height, other)), 224);
  EXPECT_EQ(estimate(max(height, other) - index(4)), 220);
  EXPECT_EQ(estimate(height * index(int64_t{1} << 50)), 1 << 20);
  EXPECT_EQ(estimate(batch - index(7)), 0);
  EXPECT_EQ(estimate(load(buffer("sizes", DType::index, {index(1)}), {index(0)})),
            default_estimate);
}

// As detectors compute the size of what they scale an image to.
TEST(Estimate, EvaluatesSizesThatAreComputedInFloats) {
  const Expr height = dimension("h", 224);
  const Expr scaled = cast(DType::f32, height) * 0.3;
  EXPECT_EQ(estimate(cast(DType::index, unary(UnaryOp::floor, scaled))), 67);
  EXPECT_EQ(estimate(cast(DType::index, unary(UnaryOp::ceil, scaled))), 68);
  EXPECT_EQ(estimate(select(scaled > 100.0, index(3), index(5))), 5);
}

}  // namespace
}  // namespace gossamer::ir
