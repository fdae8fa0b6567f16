#include "ops/mul_div.h"

#include <gtest/gtest.h>

#include <random>

namespace gossamer::ops {
namespace {

// Products of 32 to 48 bits: whole and rest are what 64 bits say.
TEST(WideProduct, IsDividedExactly) {
  const Builder b(*builtin_catalog().find("", "Identity"), "node", std::vector<Tensor>(), {}, 1);
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 3000; ++turn) {
    const auto up_to = [&](int64_t most) {
      return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
    };
    const int64_t x = up_to(int64_t{1} << (4 + turn % 24));
    const int64_t y = up_to(std::min(wide_product_limit / x, int64_t{1} << 30) - 1);
    const int64_t below = up_to((int64_t{1} << 28) - 1);
    const int64_t plus = -up_to(below);
    const auto number = [](int64_t value) { return ir::index(value); };
    const Quotient made = quotient_of_product(b, number(x), number(y), number(plus), number(below));
    const int64_t exact = x * y + plus;
    const int64_t rest = ((exact % below) + below) % below;
    ASSERT_EQ(ir::as_int(made.rest), rest) << x << " * " << y << " / " << below;
    ASSERT_EQ(ir::as_int(made.whole), (exact - rest) / below) << x << " * " << y << " / " << below;
  }
}

TEST(WideProduct, ModuloIsPlainWhereItFits) {
  Builder b(*builtin_catalog().find("", "Identity"), "node", std::vector<Tensor>(), {}, 1);
  const ir::Var k = ir::var("k"), n = ir::var("n");
  const auto modulo = [&](int64_t size) { return product_modulo(b, k, n, ir::index(size)); };
  EXPECT_TRUE(ir::equal(modulo(46340), ir::floormod(k * n, ir::index(46340))));
  EXPECT_FALSE(ir::equal(modulo(46342), ir::floormod(k * n, ir::index(46342))));
  EXPECT_TRUE(check_modulus(b, ir::index(1 << 24)));
  EXPECT_FALSE(check_modulus(b, ir::index((1 << 24) + 1)));
}

}  // namespace
}  // namespace gossamer::ops
