#include "tensor/formula.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

namespace gossamer::tensor {
namespace {

using Numbers = std::vector<int64_t>;

// Two dimensions in three examples.
Examples examples() { return Examples({{5, 10, 16}, {3, 9, 20}}); }

int64_t value_of(const Formula& formula, int64_t a, int64_t b) {
  const auto dim = [&](int16_t d) { return d == 0 ? a : b; };
  int64_t product = formula.is_constant() ? 0 : 1;
  for (const int16_t d : std::span(formula.factors).first(static_cast<size_t>(formula.count)))
    product *= dim(d);
  int64_t value = (formula.numerator * product + formula.more) / formula.denominator;
  if (formula.term >= 0) value += dim(formula.term);
  return value + formula.offset;
}

// The formula of a function of both dimensions gives its numbers elsewhere, too.
template <class Function>
void expect(Function function) {
  const auto found = examples().whole(Numbers{function(5, 3), function(10, 9), function(16, 20)});
  ASSERT_TRUE(found);
  for (const auto& [a, b] : {std::pair{1, 1}, {4, 7}, {33, 12}, {128, 1000}})
    EXPECT_EQ(value_of(*found, a, b), function(a, b)) << a << ", " << b;
}

TEST(Formula, WholeNumbersFollowFromDimensions) {
  expect([](int64_t, int64_t) { return 7; });
  expect([](int64_t a, int64_t) { return a; });
  expect([](int64_t, int64_t b) { return b; });
  expect([](int64_t a, int64_t) { return a - 1; });
  expect([](int64_t a, int64_t) { return -a; });
  expect([](int64_t, int64_t b) { return 4 * b + 3; });
  expect([](int64_t a, int64_t b) { return a + b + 1; });
  expect([](int64_t a, int64_t b) { return 2 * a * b; });
  expect([](int64_t a, int64_t) { return a * a; });
  expect([](int64_t a, int64_t b) { return a * b * b; });
  expect([](int64_t a, int64_t) { return a / 2; });
  expect([](int64_t, int64_t b) { return (b + 1) / 2; });
  EXPECT_FALSE(examples().whole(Numbers{10, 9, 7}));
  EXPECT_EQ(examples().whole(Numbers{5, 10, 16})->dimension(), 0);
  EXPECT_EQ(examples().whole(Numbers{6, 11, 17})->dimension(), Formula::none);
}

template <class Function>
void expect_real(Function function, RealFormula::Last last) {
  const auto at = [&](int64_t a, int64_t b) {
    return static_cast<double>(
        static_cast<float>(function(static_cast<double>(a), static_cast<double>(b))));
  };
  const auto found = examples().real(std::vector<double>{at(5, 3), at(10, 9), at(16, 20)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->last, last);
  for (const auto& [a, b] : {std::pair{1, 1}, {4, 7}, {128, 1000}}) {
    double value = found->scale * static_cast<double>(value_of(found->whole, a, b)) + found->shift;
    if (last == RealFormula::root || last == RealFormula::reciprocal_root) value = std::sqrt(value);
    if (last == RealFormula::reciprocal || last == RealFormula::reciprocal_root) value = 1 / value;
    EXPECT_NEAR(value, at(a, b), 1e-5 * std::abs(at(a, b))) << a << ", " << b;
  }
}

TEST(Formula, RealNumbersFollowFromDimensions) {
  expect_real([](double a, double) { return a - 2; }, RealFormula::same);
  expect_real([](double, double b) { return 0.3 * b + 0.25; }, RealFormula::same);
  expect_real([](double a, double) { return 1 / a; }, RealFormula::reciprocal);
  expect_real([](double a, double b) { return 1 / (a * b); }, RealFormula::reciprocal);
  expect_real([](double a, double) { return 2 / (a + 1); }, RealFormula::reciprocal);
  expect_real([](double, double b) { return std::sqrt(b); }, RealFormula::root);
  expect_real([](double a, double) { return 1 / std::sqrt(a); }, RealFormula::reciprocal_root);
  const auto constant = examples().real(std::vector<double>{0.5, 0.5, 0.5});
  ASSERT_TRUE(constant);
  EXPECT_TRUE(constant->is_constant());
  EXPECT_FALSE(examples().real(std::vector<double>{0.5, 0.25, 0.75}));
}

}  // namespace
}  // namespace gossamer::tensor
