#include "autodiff/derivative.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::autodiff {

using ir::Buffer;
using ir::DType;
using ir::NodeKind;

using namespace ir;

namespace {

// The derivative of an expression by x where x is a number.
double slope(const std::function<Expr(Expr)>& f, double at) {
  const Var x = var("x", DType::f64);
  const auto found = cotangents_of({{f(x), {{}, constant(DType::f64, 1)}}},
                                   [&](const Expr& e) { return e.get() == x.get(); });
  if (found.empty()) return 0;
  const Expr value = unmasked(found[0].cotangent);
  const auto number = as_float(simplify(substitute(value, {{x.get(), constant(DType::f64, at)}})));
  EXPECT_TRUE(number) << print(value);
  return number.value_or(-1);
}

TEST(Derivative, AtKinksIsPyTorchs) {
  const auto relu = [](Expr x) { return max(x, 0.0); };
  EXPECT_EQ(slope(relu, 0), 0);
  EXPECT_EQ(slope(relu, 1), 1);
  const auto magnitude = [](Expr x) { return abs(x); };
  EXPECT_EQ(slope(magnitude, 0), 0);
  EXPECT_EQ(slope(magnitude, -2), -1);
  EXPECT_EQ(slope([](Expr x) { return max(x, x * 1.0); }, 3), 1);
  EXPECT_EQ(slope([](Expr x) { return pow(x, constant(DType::f64, 0)); }, 0), 0);
  EXPECT_EQ(slope([](Expr x) { return pow(constant(DType::f64, 0), x); }, 2), 0);
  EXPECT_EQ(
      slope([](Expr x) { return floor(x) + trunc(x) + cast(DType::f64, cast(DType::i32, x)); },
            2.5),
      0);
}

// What an arm that is not taken would be is never multiplied by 0.
TEST(Derivative, OfArmsNotTakenIsNothing) {
  const auto safe_inverse = [](Expr x) { return select(x > 0.0, 1.0 / x, zero(x->type)); };
  EXPECT_EQ(slope(safe_inverse, 0), 0);
  EXPECT_EQ(slope(safe_inverse, 2), -0.25);
  const auto two_arms = [](Expr x) { return select(x > 0.0, x * 2.0, log(x * x) * x); };
  EXPECT_EQ(slope(two_arms, 3), 2);
}

TEST(Derivative, OfAllUses) {
  EXPECT_EQ(slope([](Expr x) { return x * x * x - x / 2.0; }, 2), 11.5);
  EXPECT_EQ(slope([](Expr x) { return fma(x, x, x); }, 2), 5);
  EXPECT_EQ(slope([](Expr x) { return 1.0 / (x * x); }, 2), -0.25);
}

// Loads of one element are one leaf, whose derivative is the sum.
TEST(Derivative, KnowsLoadsByTheirPlaces) {
  const Buffer a = buffer("a", DType::f32, {ir::index(4)});
  const Var i = var("i");
  const Expr product = load(a, {i}) * load(a, {i});
  const auto wanted = [](const Expr& e) { return e->kind == NodeKind::Load; };
  const auto found = cotangents_of({{product, {{}, var("g", DType::f32)}}}, wanted);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(print(unmasked(found[0].cotangent)), "g * a[i] + g * a[i]");
}

}  // namespace
}  // namespace gossamer::autodiff
