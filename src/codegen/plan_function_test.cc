#include "codegen/plan_function.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

#include "interp/expr_eval.h"
#include "ir/build.h"

namespace gossamer::codegen {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;
using ir::Var;

double evaluate(const PlanFunction& plan, size_t value, const std::vector<double>& dims) {
  interp::Variables variables;
  for (size_t at = 0; at < dims.size(); ++at)
    variables[plan.dims[at].get()] = ir::Scalar::of_float(DType::f64, dims[at]);
  return interp::evaluate(plan.values[value], variables, {}).f;
}

TEST(PlanFunction, ProductsNeverWrap) {
  const Var a = ir::var("a"), b = ir::var("b"), c = ir::var("c");
  const PlanFunction plan =
      in_doubles({{a, b, c}, {Expr(a) * Expr(b) * Expr(c) * ir::index(4), Expr(a) * Expr(b)}});
  EXPECT_EQ(evaluate(plan, 0, {46341, 46341, 1}), 4.0 * 46341 * 46341);
  EXPECT_EQ(evaluate(plan, 1, {65536, 65536, 1}), 0x1p32);
  // 2^31 * 2^31 * 2^31 * 4 is 0 in 64 bits.
  EXPECT_EQ(evaluate(plan, 0, {0x1p31, 0x1p31, 0x1p31}), 0x1p95);
  EXPECT_EQ(evaluate(plan, 0, {0x1p31, 0x1p31, 0}), 0);
}

// What is computed from a number that is not exact is either still too large for a size, or NaN.
TEST(PlanFunction, InexactNumbersNeverLookLikeSizes) {
  const Var a = ir::var("a"), b = ir::var("b");
  const Expr product = Expr(a) * Expr(b);
  const PlanFunction plan = in_doubles(
      {{a, b},
       {ir::floordiv(product, Expr(b)), product - product + Expr(a), ir::floormod(product, 7),
        ir::floordiv(product, 16), ir::min(product, ir::index(5)),
        ir::select(product > ir::index(9), ir::index(1), ir::index(0))}});
  const std::vector<double> large = {0x1p52 + 1, 0x1p40 + 3}, small = {1000003, 4096};
  EXPECT_TRUE(std::isnan(evaluate(plan, 0, large)));
  EXPECT_TRUE(std::isnan(evaluate(plan, 1, large)));
  EXPECT_TRUE(std::isnan(evaluate(plan, 2, large)));
  EXPECT_GT(evaluate(plan, 3, large), 0x1p53);
  EXPECT_EQ(evaluate(plan, 4, large), 5);
  EXPECT_EQ(evaluate(plan, 5, large), 1);
  EXPECT_EQ(evaluate(plan, 0, small), 1000003);
  EXPECT_EQ(evaluate(plan, 1, small), 1000003);
  EXPECT_EQ(evaluate(plan, 2, small), 1000003LL * 4096 % 7);
}

TEST(PlanFunction, NarrowIntegersWrapAndFloatsPass) {
  const Var a = ir::var("a");
  const Expr half = ir::cast(DType::f32, Expr(a)) * 0.5;
  const PlanFunction plan = in_doubles(
      {{a},
       {ir::cast(DType::index, ir::cast(DType::i8, Expr(a))),
        ir::cast(DType::index, ir::cast(DType::u8, Expr(a))), ir::cast(DType::index, half),
        ir::cast(DType::index, ir::cast(DType::boolean, Expr(a))),
        ir::binary(BinaryOp::bit_and, Expr(a), ir::index(12))}});
  EXPECT_EQ(evaluate(plan, 0, {200}), -56);
  EXPECT_EQ(evaluate(plan, 1, {300}), 44);
  EXPECT_EQ(evaluate(plan, 2, {7}), 3);
  EXPECT_EQ(evaluate(plan, 3, {7}), 1);
  EXPECT_EQ(evaluate(plan, 4, {11}), 8);
}

// Random expressions against 128 bits: what fits 53 bits on the way is exact, and nothing that does
// not fit looks as though it did.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(engine_); }

 private:
  std::mt19937 engine_;
};

using Wide = __int128;

struct Made {
  Expr expr;
  std::optional<Wide> value;  // none: left even 128 bits
};

int bits_of(Wide value) {
  int bits = 0;
  for (; value != 0; value /= 2) ++bits;
  return bits;
}

Made combine(BinaryOp op, const Made& a, const Made& b) {
  Made made{ir::binary(op, a.expr, b.expr), std::nullopt};
  if (!a.value || !b.value) return made;
  const Wide x = *a.value, y = *b.value;
  Wide result = 0;
  bool left = false;
  Wide quotient = y == 0 ? 0 : x / y;
  const bool rests = y != 0 && x % y != 0;
  switch (op) {
    case BinaryOp::add:
      left = __builtin_add_overflow(x, y, &result);
      break;
    case BinaryOp::sub:
      left = __builtin_sub_overflow(x, y, &result);
      break;
    case BinaryOp::mul:
      // Products that may be of 2^125 are none, either; __builtin_mul_overflow of 128 bits, or what
      // looks like it, is a function that not every machine's run time has.
      left = bits_of(x) + bits_of(y) > 126;
      if (!left) result = x * y;
      break;
    case BinaryOp::div:
      result = quotient;
      break;
    case BinaryOp::rem:
      result = y == 0 ? 0 : x % y;
      break;
    case BinaryOp::floordiv:
      result = rests && (x < 0) != (y < 0) ? quotient - 1 : quotient;
      break;
    case BinaryOp::floormod:
      result = y == 0 ? 0 : x % y + (rests && (x < 0) != (y < 0) ? y : 0);
      break;
    case BinaryOp::min:
      result = x < y ? x : y;
      break;
    default:
      result = x > y ? x : y;
      break;
  }
  if (!left) made.value = result;
  return made;
}

TEST(PlanFunction, RandomArithmeticIsExactOrBeyondEverySize) {
  constexpr int64_t interesting[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     64,
                                     46341,
                                     65536,
                                     99991,
                                     1LL << 30,
                                     4093,
                                     1LL << 31,
                                     (1LL << 31) - 1,
                                     (1LL << 32) + 1,
                                     1LL << 53,
                                     -1,
                                     -46341};
  constexpr BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul,      BinaryOp::mul,
                              BinaryOp::div, BinaryOp::rem, BinaryOp::floordiv, BinaryOp::floormod,
                              BinaryOp::min, BinaryOp::max};
  int exact = 0, beyond = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    std::vector<Var> dims;
    std::vector<double> values;
    std::vector<Made> pool;
    for (int at = 0; at < 4; ++at) {
      const int64_t value = interesting[random.below(std::size(interesting))];
      dims.push_back(ir::var("d"));
      values.push_back(static_cast<double>(value));
      pool.push_back({dims.back(), value});
    }
    const auto pick = [&] { return pool[static_cast<size_t>(random.below(std::ssize(pool)))]; };
    for (int step = 0; step < 6; ++step)
      pool.push_back(combine(ops[random.below(std::size(ops))], pick(), pick()));
    const PlanFunction plan = in_doubles({dims, {pool.back().expr}});
    const double got = evaluate(plan, 0, values);
    const std::optional<Wide> wanted = pool.back().value;
    if (std::abs(got) < 0x1p53) {
      exact += wanted.has_value();
      if (wanted) EXPECT_EQ(static_cast<Wide>(got), *wanted) << seed;
    } else {
      beyond += !std::isnan(got);
    }
  }
  EXPECT_GT(exact, 10000);
  EXPECT_GT(beyond, 500);
}

}  // namespace
}  // namespace gossamer::codegen
