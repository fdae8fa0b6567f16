// Small floats against tables made from the words of their definition, one number at a time.
#include "ir/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ir/scalar.h"

namespace gossamer::ir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Exponent and mantissa bits, bias, and what the definition says of the codes at the end.
struct Definition {
  DType dtype;
  int exponent, mantissa, bias;
  enum { all_numbers, last_is_nan, ieee, negative_zero_is_nan } special;
};
const Definition definitions[] = {
    {DType::f8e4m3fn, 4, 3, 7, Definition::last_is_nan},
    {DType::f8e4m3fnuz, 4, 3, 8, Definition::negative_zero_is_nan},
    {DType::f8e5m2, 5, 2, 15, Definition::ieee},
    {DType::f8e5m2fnuz, 5, 2, 16, Definition::negative_zero_is_nan},
    {DType::f4e2m1, 2, 1, 1, Definition::all_numbers},
    {DType::f6e2m3, 2, 3, 1, Definition::all_numbers},
    {DType::f6e3m2, 3, 2, 3, Definition::all_numbers},
};

double magnitude_of(const Definition& d, int code) {
  const int e = code >> d.mantissa, m = code % (1 << d.mantissa), top = (1 << d.exponent) - 1;
  const bool last = e == top && m == (1 << d.mantissa) - 1;
  if (d.special == Definition::last_is_nan && last) return std::nan("");
  if (d.special == Definition::ieee && e == top) return m ? std::nan("") : infinity;
  const double fraction = m / std::pow(2.0, d.mantissa);
  return e ? (1 + fraction) * std::pow(2.0, e - d.bias) : fraction * std::pow(2.0, 1 - d.bias);
}

// The code whose value is nearest, of two the even one; too large ones become the largest.
int nearest(const Definition& d, double value) {
  const int codes = 1 << (d.exponent + d.mantissa);
  const int sign = std::signbit(value) ? codes : 0;
  const bool one_zero = d.special == Definition::negative_zero_is_nan;
  if (std::isnan(value)) return one_zero ? codes : -1;  // any NaN
  int best = 0;
  for (int code = 1; code < codes; ++code) {
    const double here = std::fabs(magnitude_of(d, code) - std::fabs(value));
    const double there = std::fabs(magnitude_of(d, best) - std::fabs(value));
    if (!std::isfinite(magnitude_of(d, code))) break;
    if (std::isinf(value) || here < there || (here == there && code % 2 == 0)) best = code;
  }
  return best == 0 && one_zero ? 0 : best + sign;
}

void check(const Definition& d, double value) {
  const Scalar from{DType::f64, 0, value};
  std::byte stored;
  write_scalar(convert(d.dtype, from), &stored);
  const int want = nearest(d, value), got = std::to_integer<int>(stored);
  if (want >= 0) {
    ASSERT_EQ(got, want) << name_of(d.dtype) << " of " << value;
  } else if (d.special != Definition::all_numbers) {
    ASSERT_TRUE(std::isnan(from_small(d.dtype, static_cast<uint8_t>(got)))) << name_of(d.dtype);
  } else {
    ASSERT_EQ(got, 1 << (d.exponent + d.mantissa));  // negative zero stands for NaN
  }
}

TEST(SmallFloat, EveryCodeIsItsNumber) {
  for (const Definition& d : definitions) {
    const int codes = 1 << (d.exponent + d.mantissa);
    for (int code = 0; code < 2 * codes; ++code) {
      double want = magnitude_of(d, code % codes);
      if (d.special == Definition::negative_zero_is_nan && code == codes) want = std::nan("");
      if (code >= codes) want = -want;
      const double got = from_small(d.dtype, static_cast<uint8_t>(code));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << name_of(d.dtype) << " " << code;
        continue;
      }
      EXPECT_EQ(got, want) << name_of(d.dtype) << " " << code;
      EXPECT_EQ(to_small(d.dtype, got), code) << name_of(d.dtype) << " " << code;
    }
  }
}

TEST(SmallFloat, EveryHalfFloatGoesToTheNearest) {
  for (const Definition& d : definitions) {
    for (int bits = 0; bits < 65536; ++bits) check(d, from_half(static_cast<uint16_t>(bits)));
  }
}

TEST(SmallFloat, HalfwayPointsGoToTheEvenCode) {
  for (const Definition& d : definitions) {
    for (int code = 0; code + 1 < 1 << (d.exponent + d.mantissa); ++code) {
      const double low = magnitude_of(d, code), high = magnitude_of(d, code + 1);
      if (!std::isfinite(high)) break;
      const double middle = (low + high) / 2;
      for (double value : {middle, std::nextafter(middle, 0), std::nextafter(middle, infinity)}) {
        check(d, value);
        check(d, -value);
      }
    }
  }
}

TEST(SmallFloat, ExponentsRoundUp) {
  for (int code = 0; code < 255; ++code) {
    const double value = std::ldexp(1.0, code - 127);
    EXPECT_EQ(from_small(DType::f8e8m0, static_cast<uint8_t>(code)), value);
    EXPECT_EQ(to_small(DType::f8e8m0, value), code);
    EXPECT_EQ(to_small(DType::f8e8m0, -value), code);  // the sign is lost
    EXPECT_EQ(to_small(DType::f8e8m0, value * 1.01), std::min(code + 1, 254));
    // What f32 cannot tell from the power of two is the power of two.
    EXPECT_EQ(to_small(DType::f8e8m0, value * (1 + 0x1p-40)), code);
  }
  EXPECT_EQ(to_small(DType::f8e8m0, 0), 0);
  EXPECT_EQ(to_small(DType::f8e8m0, infinity), 254);
  EXPECT_EQ(to_small(DType::f8e8m0, std::nan("")), 255);
  EXPECT_TRUE(std::isnan(from_small(DType::f8e8m0, 255)));
}

TEST(SmallFloat, InfinityStaysOnlyWhereItIsNoConversion) {
  EXPECT_EQ(round_to(DType::f8e5m2, infinity), infinity);
  EXPECT_EQ(convert(DType::f8e5m2, Scalar{DType::f32, 0, -infinity}).f, -57344);
}

TEST(SmallInteger, NarrowOnesWrapAndFloatsSaturate) {
  for (int64_t value = -300; value < 300; ++value) {
    EXPECT_EQ(Scalar::of_int(DType::u4, value).i, ((value % 16) + 16) % 16);
    EXPECT_EQ(Scalar::of_int(DType::u2, value).i, ((value % 4) + 4) % 4);
    EXPECT_EQ(Scalar::of_int(DType::i4, value).i, ((value + 8) % 16 + 16) % 16 - 8);
    EXPECT_EQ(Scalar::of_int(DType::i2, value).i, ((value + 2) % 4 + 4) % 4 - 2);
    const auto number = static_cast<double>(value);
    EXPECT_EQ(Scalar::of_float(DType::i4, number).i, std::clamp<int64_t>(value, -8, 7));
    EXPECT_EQ(Scalar::of_float(DType::u2, number).i, std::clamp<int64_t>(value, 0, 3));
  }
}

}  // namespace
}  // namespace gossamer::ir
