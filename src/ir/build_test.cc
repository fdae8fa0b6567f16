#include "ir/build.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/rewrite.h"
#include "ir/scalar.h"

namespace gossamer::ir {
namespace {

TEST(Build, FoldsConstantsByTheirType) {
  EXPECT_EQ(as_int(constant_int(DType::i8, 127) + constant_int(DType::i8, 1)), -128);
  EXPECT_EQ(as_int(constant_int(DType::u8, 3) - constant_int(DType::u8, 5)), 254);
  EXPECT_EQ(as_int(constant_int(DType::i32, 7) / constant_int(DType::i32, 0)), 0);
  EXPECT_EQ(as_int(constant_int(DType::i32, -7) / constant_int(DType::i32, 2)), -3);
  EXPECT_EQ(as_int(floordiv(constant_int(DType::i32, -7), constant_int(DType::i32, 2))), -4);
  EXPECT_EQ(as_int(floormod(constant_int(DType::i32, -7), constant_int(DType::i32, 2))), 1);
  EXPECT_EQ(as_float(constant(DType::f32, 0.1) + constant(DType::f32, 0.2)),
            static_cast<double>(0.1f + 0.2f));
  EXPECT_EQ(as_int(cast(DType::i32, constant(DType::f32, 3e10))), 2147483647);
  EXPECT_EQ(as_int(cast(DType::i8, constant_int(DType::i32, 300))), 44);
  EXPECT_EQ(as_int(cast(DType::i32, constant(DType::f32, std::nan("")))), 0);
  EXPECT_EQ(as_int(bitcast(DType::u32, constant(DType::f32, 1.0))), 0x3f800000);
}

TEST(Build, DropsIndexIdentities) {
  Expr x = var("x");
  EXPECT_TRUE((x + 0).same(x));
  EXPECT_TRUE((x * 1).same(x));
  EXPECT_TRUE(is_const(x * 0, 0));
  EXPECT_TRUE(floordiv(x, 1).same(x));
  Expr f = var("f", DType::f32);
  EXPECT_EQ(as_float(f * 0.0), std::nullopt);
}

TEST(Build, FoldsVectors) {
  Type four(DType::f32, 4);
  Expr two = constant(four, 2.0);
  EXPECT_TRUE(equal(two * two, constant(four, 4.0)));
  EXPECT_TRUE(equal(lane(ramp(var("b"), 2, 4), index(0)), lane(two, index(0))) == false);
  Expr b = var("b");
  EXPECT_TRUE(equal(lane(ramp(b, 2, 4), index(3)), b + 6));
}

TEST(Build, LimitsOfTypes) {
  EXPECT_EQ(as_int(lowest(DType::i8)), -128);
  EXPECT_EQ(as_int(highest(DType::u8)), 255);
  EXPECT_EQ(as_int(highest(DType::i64)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(as_float(lowest(DType::f16)), -std::numeric_limits<double>::infinity());
}

TEST(Build, LongChainsAreReleasedWithoutRecursion) {
  Expr x = var("x", DType::f32);
  for (int i = 0; i < 1000000; ++i) x = x + 1.0;
}

TEST(Scalar, HalfRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = from_half(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_half(value), bits);
    ASSERT_EQ(static_cast<double>(static_cast<_Float16>(value)), value);
  }
  uint32_t seed = 1;
  for (int i = 0; i < 200000; ++i) {
    seed = seed * 1664525 + 1013904223;
    const double value =
        (seed / 4294967296.0 - 0.5) * std::ldexp(1.0, static_cast<int>(seed % 50) - 30);
    ASSERT_EQ(round_to(DType::f16, value), static_cast<double>(static_cast<_Float16>(value)));
  }
  EXPECT_EQ(to_half(65519.0), 0x7bff);
  EXPECT_EQ(to_half(65520.0), 0x7c00);
}

TEST(Scalar, BfloatRoundsToNearestEven) {
  EXPECT_EQ(to_bfloat(1.0), 0x3f80);
  EXPECT_EQ(to_bfloat(1.00390625), 0x3f80);  // half way, down to even
  EXPECT_EQ(to_bfloat(1.01171875), 0x3f82);  // half way, up to even
  EXPECT_EQ(to_bfloat(3.4e38), 0x7f80);
  EXPECT_EQ(to_bfloat(0x1p-133), 1);
  EXPECT_EQ(to_bfloat(-0.0), 0x8000);
}

TEST(Scalar, NanAndLimits) {
  auto f = [](double v) { return Scalar::of_float(DType::f32, v); };
  EXPECT_TRUE(std::isnan(apply(BinaryOp::max, f(NAN), f(1)).f));
  EXPECT_TRUE(std::isnan(apply(BinaryOp::min, f(1), f(NAN)).f));
  EXPECT_TRUE(apply(BinaryOp::ne, f(NAN), f(NAN)).truthy());
  EXPECT_EQ(apply(UnaryOp::round, f(2.5)).f, 2);
  EXPECT_EQ(apply(UnaryOp::round, f(-3.5)).f, -4);
  auto i = [](int64_t v) { return Scalar::of_int(DType::i32, v); };
  EXPECT_EQ(apply(BinaryOp::shl, i(1), i(32)).i, 0);
  EXPECT_EQ(apply(BinaryOp::shr, i(-5), i(40)).i, -1);
  EXPECT_EQ(apply(BinaryOp::div, i(INT32_MIN), i(-1)).i, INT32_MIN);
  EXPECT_EQ(apply(BinaryOp::floormod, f(-1), f(3)).f, 2);
  EXPECT_EQ(convert(DType::u8, f(300)).i, 255);
  EXPECT_EQ(convert(DType::f32, Scalar{DType::i64, 16777217, 0}).f, 16777216);
}

}  // namespace
}  // namespace gossamer::ir
