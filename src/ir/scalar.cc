#include "ir/scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/small_float.h"

namespace gossamer::ir {
namespace {

int bits_of(DType dtype) {
  if (dtype == DType::boolean) return 1;
  return dtype == DType::index ? 64 : bit_width(dtype);
}

int64_t wrap(DType dtype, uint64_t value) {
  switch (dtype) {
    case DType::i8:
      return static_cast<int8_t>(value);
    case DType::i16:
      return static_cast<int16_t>(value);
    case DType::i32:
      return static_cast<int32_t>(value);
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::u16:
      return static_cast<uint16_t>(value);
    case DType::u32:
      return static_cast<uint32_t>(value);
    case DType::boolean:
      return value != 0;
    case DType::u4:
    case DType::u2:
      return static_cast<int64_t>(value & ((1u << bit_width(dtype)) - 1));
    case DType::i4:
    case DType::i2: {
      const int unused = 64 - bit_width(dtype);
      return static_cast<int64_t>(value << unused) >> unused;
    }
    default:
      return static_cast<int64_t>(value);
  }
}

bool fits_unsigned(DType dtype) { return is_unsigned_int(dtype) || dtype == DType::boolean; }

int64_t saturate(DType dtype, double value) {
  if (dtype == DType::boolean) return value != 0;  // NaN is not 0
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  const int bits = bits_of(dtype);
  if (fits_unsigned(dtype)) {
    if (value <= 0) return 0;
    if (value >= std::ldexp(1.0, bits)) return wrap(dtype, ~uint64_t{0});
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  const double limit = std::ldexp(1.0, bits - 1);
  if (value >= limit) return static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  if (value < -limit) return -static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1) - 1;
  return static_cast<int64_t>(value);
}

// Doubles throughout, rounded once at the end: libm's float versions differ between platforms in
// the last place, and folded constants must not.
double float_unary(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::neg:
      return -x;
    case UnaryOp::abs:
      return std::fabs(x);
    case UnaryOp::floor:
      return std::floor(x);
    case UnaryOp::ceil:
      return std::ceil(x);
    case UnaryOp::round:
      return round_even(x);
    case UnaryOp::trunc:
      return std::trunc(x);
    case UnaryOp::sqrt:
      return std::sqrt(x);
    case UnaryOp::exp:
      return std::exp(x);
    case UnaryOp::log:
      return std::log(x);
    case UnaryOp::sin:
      return std::sin(x);
    case UnaryOp::cos:
      return std::cos(x);
    case UnaryOp::tan:
      return std::tan(x);
    case UnaryOp::asin:
      return std::asin(x);
    case UnaryOp::acos:
      return std::acos(x);
    case UnaryOp::atan:
      return std::atan(x);
    case UnaryOp::sinh:
      return std::sinh(x);
    case UnaryOp::cosh:
      return std::cosh(x);
    case UnaryOp::tanh:
      return std::tanh(x);
    case UnaryOp::asinh:
      return std::asinh(x);
    case UnaryOp::acosh:
      return std::acosh(x);
    case UnaryOp::atanh:
      return std::atanh(x);
    case UnaryOp::erf:
      return std::erf(x);
    default:
      check_failed(__FILE_NAME__, __LINE__, "float unary", std::string(name_of(op)));
  }
}

// a op b rounded to the node's type. For f32, f16 and bf16 the double result of + - * / is exact
// enough that the second rounding changes nothing (53 >= 2 * 24 + 2).
double float_binary(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::rem:
      return std::fmod(a, b);
    case BinaryOp::floordiv:
      return std::floor(a / b);
    case BinaryOp::floormod: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case BinaryOp::min:
      return std::isnan(a) || std::isnan(b) ? a + b : b < a ? b : a;
    case BinaryOp::max:
      return std::isnan(a) || std::isnan(b) ? a + b : a < b ? b : a;
    case BinaryOp::pow:
      return std::pow(a, b);
    case BinaryOp::ldexp:
      return a * std::exp2(b);
    default:
      check_failed(__FILE_NAME__, __LINE__, "float binary", std::string(name_of(op)));
  }
}

template <class T>
bool compare(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::gt:
      return a > b;
    default:
      return a >= b;
  }
}

int64_t shift(BinaryOp op, DType dtype, int64_t a, uint64_t count) {
  const auto bits = static_cast<uint64_t>(bits_of(dtype));
  if (op == BinaryOp::shl) return count >= bits ? 0 : static_cast<int64_t>(uint64_t(a) << count);
  if (fits_unsigned(dtype)) return count >= bits ? 0 : static_cast<int64_t>(uint64_t(a) >> count);
  return count >= bits ? (a < 0 ? -1 : 0) : a >> count;
}

int64_t divide(BinaryOp op, bool is_unsigned, int64_t a, int64_t b) {
  if (b == 0) return 0;
  const bool want_quotient = op == BinaryOp::div || op == BinaryOp::floordiv;
  if (is_unsigned) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(want_quotient ? x / y : x % y);
  }
  if (b == -1) return want_quotient ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : 0;
  switch (op) {
    case BinaryOp::div:
      return a / b;
    case BinaryOp::rem:
      return a % b;
    case BinaryOp::floordiv:
      return floor_div(a, b);
    default:
      return floor_mod(a, b);
  }
}

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

int64_t int_binary(BinaryOp op, DType dtype, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool is_unsigned = fits_unsigned(dtype);
  const bool less = is_unsigned ? x < y : a < b;
  switch (op) {
    case BinaryOp::add:
      return static_cast<int64_t>(x + y);
    case BinaryOp::sub:
      return static_cast<int64_t>(x - y);
    case BinaryOp::mul:
      return static_cast<int64_t>(x * y);
    case BinaryOp::div:
    case BinaryOp::rem:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      return divide(op, is_unsigned, a, b);
    case BinaryOp::min:
      return less ? a : b;
    case BinaryOp::max:
      return less ? b : a;
    case BinaryOp::pow:
      return !is_unsigned && b < 0 ? (a == 1 ? 1 : 0) : static_cast<int64_t>(power(x, y));
    case BinaryOp::logical_and:
      return a && b;
    case BinaryOp::logical_or:
      return a || b;
    case BinaryOp::logical_xor:
      return (a != 0) != (b != 0);
    case BinaryOp::bit_and:
      return a & b;
    case BinaryOp::bit_or:
      return a | b;
    case BinaryOp::bit_xor:
      return a ^ b;
    default:
      return shift(op, dtype, a, y);
  }
}

}  // namespace

double round_even(double x) {
  const double down = std::floor(x), rest = x - down;
  if (rest < 0.5) return std::copysign(down, x);
  if (rest > 0.5) return std::copysign(down + 1, x);
  return std::copysign(std::fmod(down, 2) == 0 ? down : down + 1, x);
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Scalar Scalar::of_int(DType dtype, int64_t value) {
  if (is_float(dtype)) return {dtype, 0, round_to(dtype, static_cast<double>(value))};
  return {dtype, wrap(dtype, static_cast<uint64_t>(value)), 0};
}

Scalar Scalar::of_float(DType dtype, double value) {
  if (is_float(dtype)) return {dtype, 0, round_to(dtype, value)};
  return {dtype, saturate(dtype, value), 0};
}

double Scalar::as_double() const {
  if (is_float(dtype)) return f;
  return dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(i))
                             : static_cast<double>(i);
}

int64_t Scalar::as_int() const { return is_float(dtype) ? saturate(DType::i64, f) : i; }

Scalar apply(UnaryOp op, const Scalar& a) {
  if (op == UnaryOp::is_nan) return {DType::boolean, is_float(a.dtype) && std::isnan(a.f), 0};
  if (op == UnaryOp::is_inf) return {DType::boolean, is_float(a.dtype) && std::isinf(a.f), 0};
  if (op == UnaryOp::logical_not) return {DType::boolean, !a.truthy(), 0};
  if (is_float(a.dtype)) return {a.dtype, 0, round_to(a.dtype, float_unary(op, a.f))};
  switch (op) {
    case UnaryOp::neg:
      return Scalar::of_int(a.dtype, static_cast<int64_t>(-uint64_t(a.i)));
    case UnaryOp::bit_not:
      return Scalar::of_int(a.dtype, ~a.i);
    case UnaryOp::abs:
      if (fits_unsigned(a.dtype) || a.i >= 0) return a;
      return Scalar::of_int(a.dtype, static_cast<int64_t>(-uint64_t(a.i)));
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return a;
    default:
      return Scalar::of_float(a.dtype, float_unary(op, a.as_double()));
  }
}

Scalar apply(BinaryOp op, const Scalar& a, const Scalar& b) {
  GS_CHECK(a.dtype == b.dtype, name_of(op), " of ", name_of(a.dtype), " and ", name_of(b.dtype));
  if (is_comparison(op)) {
    bool holds;
    if (is_float(a.dtype)) {
      holds = compare(op, a.f, b.f);
    } else if (fits_unsigned(a.dtype)) {
      holds = compare(op, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i));
    } else {
      holds = compare(op, a.i, b.i);
    }
    return {DType::boolean, holds, 0};
  }
  if (is_float(a.dtype)) return {a.dtype, 0, round_to(a.dtype, float_binary(op, a.f, b.f))};
  return Scalar::of_int(a.dtype, int_binary(op, a.dtype, a.i, b.i));
}

Scalar apply_fma(const Scalar& a, const Scalar& b, const Scalar& c) {
  if (!is_float(a.dtype)) return apply(BinaryOp::add, apply(BinaryOp::mul, a, b), c);
  if (a.dtype == DType::f32) {
    return {a.dtype, 0, std::fma(float(a.f), float(b.f), float(c.f))};
  }
  return {a.dtype, 0, round_to(a.dtype, std::fma(a.f, b.f, c.f))};
}

Scalar apply_dot(const Scalar& a, const Scalar& b, const Scalar& c, int64_t terms) {
  const int64_t bits = 32 / terms;
  const auto term = [&](const Scalar& word, int64_t at) {
    const int64_t low = word.i >> (bits * at) & ((int64_t{1} << bits) - 1);
    const bool negative = is_signed_int(word.dtype) && (low >> (bits - 1)) != 0;
    return negative ? low - (int64_t{1} << bits) : low;
  };
  int64_t sum = c.i;
  for (int64_t at = 0; at < terms; ++at) sum += term(a, at) * term(b, at);
  return Scalar::of_int(c.dtype, sum);
}

Scalar convert(DType dtype, const Scalar& a) {
  if (a.dtype == dtype) return a;
  if (is_float(a.dtype)) {
    const bool largest = dtype == DType::f8e5m2 && std::isinf(a.f);
    return Scalar::of_float(dtype, largest ? std::copysign(57344, a.f) : a.f);
  }
  if (is_float(dtype)) {
    if (dtype == DType::f32) {  // straight from the integer: through double would round twice
      const float value = a.dtype == DType::u64 ? static_cast<float>(static_cast<uint64_t>(a.i))
                                                : static_cast<float>(a.i);
      return {dtype, 0, value};
    }
    return {dtype, 0, round_to(dtype, a.as_double())};
  }
  return Scalar::of_int(dtype, a.i);
}

std::optional<Scalar> reinterpret(DType dtype, Scalar a) {
  if (byte_size(dtype) != byte_size(a.dtype) || byte_size(dtype) == 0) return std::nullopt;
  std::byte bytes[8];
  write_scalar(a, bytes);
  return read_scalar(dtype, bytes);
}

Scalar read_scalar(DType dtype, const std::byte* from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(byte_size(dtype)));
  switch (dtype) {
    case DType::f32:
      return {dtype, 0, std::bit_cast<float>(static_cast<uint32_t>(bits))};
    case DType::f64:
      return {dtype, 0, std::bit_cast<double>(bits)};
    case DType::f16:
      return {dtype, 0, from_half(static_cast<uint16_t>(bits))};
    case DType::bf16:
      return {dtype, 0, from_bfloat(static_cast<uint16_t>(bits))};
    case DType::index:
      return {dtype, static_cast<int32_t>(bits), 0};
    default:
      if (is_small(dtype) && is_float(dtype))
        return {dtype, 0, from_small(dtype, static_cast<uint8_t>(bits))};
      return Scalar::of_int(dtype, static_cast<int64_t>(bits));
  }
}

void write_scalar(const Scalar& value, std::byte* to) {
  uint64_t bits = static_cast<uint64_t>(value.i);
  switch (value.dtype) {
    case DType::f32:
      bits = std::bit_cast<uint32_t>(static_cast<float>(value.f));
      break;
    case DType::f64:
      bits = std::bit_cast<uint64_t>(value.f);
      break;
    case DType::f16:
      bits = to_half(value.f);
      break;
    case DType::bf16:
      bits = to_bfloat(value.f);
      break;
    default:
      if (is_small(value.dtype) && is_float(value.dtype)) bits = to_small(value.dtype, value.f);
      break;
  }
  std::memcpy(to, &bits, static_cast<size_t>(byte_size(value.dtype)));
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f32:
      return static_cast<float>(value);
    case DType::f16:
      return from_half(to_half(value));
    case DType::bf16:
      return from_bfloat(to_bfloat(value));
    default:
      return is_small(dtype) ? from_small(dtype, to_small(dtype, value)) : value;
  }
}

// Rounds the double straight to 11 bits: through float would round twice.
uint16_t to_half(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  // Below 2^-14 the step is 2^-24, as in doubles from 2^28.
  if (size < 0x1p-14)
    return sign | static_cast<uint16_t>(std::bit_cast<uint64_t>(size + 0x1p28) -
                                        std::bit_cast<uint64_t>(0x1p28));
  constexpr int cut = 52 - 10;
  const uint64_t rest = std::bit_cast<uint64_t>(size) - (uint64_t{1023 - 15} << 52);
  const uint64_t rounded = rest + (uint64_t{1} << (cut - 1)) - 1 + (rest >> cut & 1);
  return sign | static_cast<uint16_t>(rounded >> cut);
}

double from_half(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest < 0x400) return std::bit_cast<float>(sign | 0x3f800000) * (rest * 0x1p-24);
  const uint32_t exponent = rest >= 0x7c00 ? 0x7f800000 : 112 << 23;
  const uint32_t placed = rest >= 0x7c00 ? rest << 13 | exponent : (rest << 13) + exponent;
  return std::bit_cast<float>(sign | placed);
}

uint16_t to_bfloat(double value) {
  if (std::isnan(value)) return 0x7fc0;
  // Rounds the double straight to 8 bits of mantissa: through float would round twice.
  int exponent = 0;
  std::frexp(value, &exponent);
  const int step = exponent - 8 < -133 ? -133 : exponent - 8;
  if (value != 0 && std::isfinite(value))
    value = std::ldexp(round_even(std::ldexp(value, -step)), step);
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

double from_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace gossamer::ir
