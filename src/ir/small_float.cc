#include "ir/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.h"
#include "ir/scalar.h"

namespace gossamer::ir {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

uint8_t to_exponent(double value) {
  const float size = std::fabs(static_cast<float>(value));
  if (std::isnan(size)) return 0xff;
  if (size <= 0x1p-127f) return 0;
  if (size > 0x1p127f) return 0xfe;
  int exponent = 0;
  const float fraction = std::frexp(size, &exponent);  // of [1/2, 1)
  return static_cast<uint8_t>(exponent + 127 - (fraction == 0.5f ? 1 : 0));
}

}  // namespace

const SmallFloat& small_float(DType dtype) {
  static constexpr SmallFloat e4m3fn{3, 7, 0x80, 0x7e, 0x7f, 0, false};
  static constexpr SmallFloat e4m3fnuz{3, 8, 0x80, 0x7f, 0x80, 0, true};
  static constexpr SmallFloat e5m2{2, 15, 0x80, 0x7b, 0x7e, 0x7c, false};
  static constexpr SmallFloat e5m2fnuz{2, 16, 0x80, 0x7f, 0x80, 0, true};
  static constexpr SmallFloat e8m0{0, 127, 0, 0xfe, 0xff, 0, false};
  static constexpr SmallFloat e2m1{1, 1, 0x08, 0x07, 0x08, 0, false};
  static constexpr SmallFloat e2m3{3, 1, 0x20, 0x1f, 0x20, 0, false};
  static constexpr SmallFloat e3m2{2, 3, 0x20, 0x1f, 0x20, 0, false};
  switch (dtype) {
    case DType::f8e4m3fn:
      return e4m3fn;
    case DType::f8e4m3fnuz:
      return e4m3fnuz;
    case DType::f8e5m2:
      return e5m2;
    case DType::f8e5m2fnuz:
      return e5m2fnuz;
    case DType::f8e8m0:
      return e8m0;
    case DType::f4e2m1:
      return e2m1;
    case DType::f6e2m3:
      return e2m3;
    case DType::f6e3m2:
      return e3m2;
    default:
      check_failed(__FILE_NAME__, __LINE__, "small float", std::string(name_of(dtype)));
  }
}

double from_small(DType dtype, uint8_t code) {
  if (dtype == DType::f8e8m0) return code == 0xff ? nan : std::ldexp(1, code - 127);
  const SmallFloat& format = small_float(dtype);
  const int magnitude = code & (format.sign - 1);
  const bool negative = (code & format.sign) != 0;
  double value;
  if (format.unsigned_zero && code == format.nan) return nan;
  if (magnitude <= format.largest) {
    const int exponent = magnitude >> format.mantissa, one = 1 << format.mantissa;
    const int fraction = magnitude & (one - 1);
    value = std::ldexp(exponent ? one + fraction : fraction,
                       std::max(exponent, 1) - format.bias - format.mantissa);
  } else {
    value = format.infinity && magnitude == format.infinity ? infinity : nan;
  }
  return negative ? -value : value;
}

uint8_t to_small(DType dtype, double value) {
  if (dtype == DType::f8e8m0) return to_exponent(value);
  const SmallFloat& format = small_float(dtype);
  const uint8_t sign = std::signbit(value) ? format.sign : 0;
  if (std::isnan(value)) return format.unsigned_zero ? format.nan : format.nan | sign;
  const double size = std::fabs(value);
  if (std::isinf(size) && format.infinity) return format.infinity | sign;
  if (size >= from_small(dtype, format.largest)) return format.largest | sign;
  if (size == 0) return format.unsigned_zero ? 0 : sign;
  // The step is 2^-mantissa of the power of two below, that of the smallest exponent at least.
  int exponent = 0;
  std::frexp(size, &exponent);
  const int power = std::max(exponent - 1, 1 - format.bias);
  const auto steps = static_cast<int>(round_even(std::ldexp(size, format.mantissa - power)));
  // Steps of a whole power of two carry into the exponent, as does its hidden one.
  const int magnitude = ((power + format.bias - 1) << format.mantissa) + steps;
  if (magnitude == 0 && format.unsigned_zero) return 0;
  return static_cast<uint8_t>(magnitude) | sign;
}

}  // namespace gossamer::ir
