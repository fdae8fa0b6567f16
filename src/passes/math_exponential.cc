#include <cmath>
#include <limits>

#include "passes/math_functions.h"

namespace gossamer::passes::math {

using namespace ir;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Expr whole(const Expr& like, int64_t value) { return constant_int(like->type, value); }
Expr shifted_left(const Expr& x, int bits) { return binary(BinaryOp::shl, x, whole(x, bits)); }
Expr shifted_right(const Expr& x, int bits) { return binary(BinaryOp::shr, x, whole(x, bits)); }

// exp and log of NaN, and log of 0, are whatever the hardware makes of it. The comparison is false
// for NaN and infinity: both stay.
Expr guarded(const Expr& x, const Expr& value) {
  return select(x <= number(x, std::numeric_limits<float>::max()), value, x);
}
Expr device_exp(const Expr& x, int halvings) {
  if (halvings == 0) return guarded(x, unary(UnaryOp::exp, x));
  // A square overflows only where the result does.
  const Expr root = device_exp(x * number(x, 0.5), 0);
  return root * number(x, std::ldexp(1, -halvings)) * root;
}
Expr device_log(const Expr& x) {
  const Expr zero = number(x, 0);
  const Expr limit = select(x < zero, number(x, nan), number(x, -infinity));
  return guarded(x, select(x > zero, unary(UnaryOp::log, x), limit));
}

}  // namespace

bool is_double(const Expr& x) { return x->type.dtype == DType::f64; }
Expr number(const Expr& like, double value) { return constant(like->type, value); }
Expr root(const Expr& x) { return unary(UnaryOp::sqrt, select(x > number(x, 0), x, number(x, 0))); }
Type bits_type(Type type) {
  return type.with_dtype(type.dtype == DType::f64 ? DType::i64 : DType::i32);
}

Expr polynomial(const Expr& x, const Fit& fit) {
  const std::span<const double> c = is_double(x) ? fit.f64 : fit.f32;
  Expr sum = number(x, c.back());
  for (size_t k = c.size() - 1; k-- > 0;) sum = fma(sum, x, number(x, c[k]));
  return sum;
}

Expr with_sign_of(const Expr& magnitude, const Expr& sign) {
  const Type bits = bits_type(magnitude->type);
  const Expr top =
      constant_int(bits, bits.dtype == DType::i64 ? std::numeric_limits<int64_t>::min()
                                                  : std::numeric_limits<int32_t>::min());
  const Expr only_sign = binary(BinaryOp::bit_and, bitcast(bits, sign), top);
  return bitcast(magnitude->type, binary(BinaryOp::bit_or, bitcast(bits, magnitude), only_sign));
}

Expr top_bits(const Expr& x, int count) {
  const Type bits = bits_type(x->type);
  const Expr mask = constant_int(bits, -(int64_t{1} << (53 - count)));
  return bitcast(x->type, binary(BinaryOp::bit_and, bitcast(bits, x), mask));
}

// exp(n log 2 + r) = 2^n (1 + r + r^2 p(r)); the scaling in two steps reaches denormals and
// infinity. Adding 1.5 * 2^(bits of the mantissa) rounds to a whole number and leaves it in the low
// bits, so that no conversion is needed; the bits above it are shifted out. Twice the exponent's
// bias is added as well: the halves are the exponents' bits of the two steps as they stand.
Expr exp(const Expr& x, const Primitives& target, int halvings) {
  if (target.exp_and_log) return device_exp(x, halvings);
  const bool wide = is_double(x);
  const int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;
  const Expr low = number(x, wide ? -746 : -104), high = number(x, wide ? 711 : 90);
  const Expr rounder = number(x, (wide ? 0x1.8p52 : 0x1.8p23) + 2 * bias);
  const Expr clamped = max(min(x, high), low);
  const Expr rounded = fma(clamped, number(x, 1.4426950408889634), rounder);
  const Expr n = rounded - rounder;
  // The high part has few enough bits that n times it is exact.
  const double log2_high = wide ? 0x1.62e42feep-1 : 0x1.62ep-1;
  const double log2_low = wide ? 0x1.a39ef35793c76p-33 : 0x1.0bfbe8p-15;
  Expr r = fma(n, number(x, -log2_high), clamped);
  r = fma(n, number(x, -log2_low), r);
  const Expr one = number(x, 1);
  Expr p = fma(fma(polynomial(r, exp_fit), r, one), r, one);
  p = select(clamped <= low, number(x, 0), p);  // products that underflow take longer
  if (target.ldexp) return binary(BinaryOp::ldexp, p, halvings ? n - number(x, halvings) : n);
  Expr steps = bitcast(bits_type(x->type), rounded);
  if (halvings) steps = steps - whole(steps, halvings);
  const Expr half = shifted_left(shifted_right(steps, 1), mantissa);
  const Expr rest = shifted_left(steps, mantissa) - half;
  return p * bitcast(x->type, half) * bitcast(x->type, rest);
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log(m) = f - (f^2/2 - s (f^2/2 + s^2 R)) with f =
// m - 1, s = f / (2 + f).
Expr log(const Expr& x, const Primitives& target) {
  if (target.exp_and_log) return device_log(x);
  const bool wide = is_double(x);
  const int mantissa = wide ? 52 : 23;
  const Type bits = bits_type(x->type);
  const Expr is_small = x < number(x, wide ? 0x1p-1022 : 0x1p-126);
  const Expr scaled = select(is_small, x * number(x, wide ? 0x1p54 : 0x1p25), x);
  const Expr i = bitcast(bits, scaled);
  const Expr above = i - constant_int(bits, wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  const Expr e = shifted_right(above, mantissa);
  const Expr m = bitcast(x->type, i - shifted_left(e, mantissa));
  const Expr correction = select(is_small, number(x, wide ? 54 : 25), number(x, 0));
  const Expr exponent = cast(x->type, e) - correction;
  const Expr f = m - number(x, 1);
  const Expr s = f / (f + number(x, 2));
  const Expr z = s * s;
  const Expr half_square = f * f * number(x, 0.5);
  const Expr r = polynomial(z, log_fit) * z;
  const double log2_high = wide ? 0x1.62e42feep-1 : 0x1.62ep-1;
  const double log2_low = wide ? 0x1.a39ef35793c76p-33 : 0x1.0bfbe8p-15;
  const Expr tail = fma(s, half_square + r, exponent * number(x, log2_low));
  Expr result = fma(exponent, number(x, log2_high), f - (half_square - tail));
  result = select(x == number(x, 0), number(x, -infinity), result);
  result = select(x < number(x, infinity), result, x);  // infinity and NaN stay
  return select(x < number(x, 0), number(x, nan), result);
}

Expr pow(const Expr& x, const Expr& y) {
  const Expr* exponent = &y;
  if (auto* splat = as<Broadcast>(y)) exponent = &splat->a;
  if (auto known = as_float(*exponent)) {
    if (*known == 0) return number(x, 1);
    if (*known == 1) return x;
    if (*known == 2) return x * x;
    if (*known == 3) return x * x * x;
    if (*known == 4) return (x * x) * (x * x);
    if (*known == -1) return number(x, 1) / x;
    if (*known == -2) return number(x, 1) / (x * x);
  }
  // Twice the precision of f32 keeps the error of the logarithm small when it is multiplied.
  const Type wide = x->type.with_dtype(DType::f64);
  const Expr a = unary(UnaryOp::abs, x);
  Expr magnitude = cast(x->type, math::exp(cast(wide, y) * math::log(cast(wide, a))));
  const Expr one = number(x, 1), zero = number(x, 0);
  magnitude = select((a == one) || (y == zero), one, magnitude);
  const Expr half = y * number(y, 0.5);
  const Expr is_whole = unary(UnaryOp::floor, y) == y;
  const Expr is_odd = is_whole && (unary(UnaryOp::floor, half) != half);
  const Expr is_negative = bitcast(bits_type(x->type), x) < constant_int(bits_type(x->type), 0);
  Expr result = select(is_odd && is_negative, -magnitude, magnitude);
  const Expr no_root = (x < zero) && !is_whole && (a < number(x, infinity));
  result = select(no_root, number(x, nan), result);
  const Expr is_nan_input = unary(UnaryOp::is_nan, x) && (y != zero);
  return select(is_nan_input || (unary(UnaryOp::is_nan, y) && (x != one)), number(x, nan), result);
}

// Subtracts multiples of y whose products are exact, the largest first. A quotient that rounding
// makes too large leaves a negative rest, which the next step adds to. All quotients of f32 are
// below 2^277; beyond 2^200, those of f64 give NaN.
Expr rem(const Expr& x, const Expr& y) {
  const Type wide = x->type.with_dtype(DType::f64);
  const Expr size = unary(UnaryOp::abs, cast(wide, x));
  const Expr divisor = unary(UnaryOp::abs, cast(wide, y));
  const bool narrow = !is_double(x);
  const Expr high = narrow ? divisor : top_bits(divisor, 26);
  const Expr low = divisor - high;
  Expr rest = size;
  for (int step = 0; step < (narrow ? 11 : 8); ++step) {
    const Expr count = top_bits(unary(UnaryOp::trunc, rest / divisor), narrow ? 28 : 26);
    rest = rest - count * high;
    if (!narrow) rest = rest - count * low;
  }
  rest = select(rest < number(rest, 0), rest + divisor, rest);
  if (!narrow) rest = select(rest < divisor, rest, number(rest, nan));
  rest = select(divisor == number(divisor, infinity), size, rest);
  const Expr result = with_sign_of(cast(x->type, rest), x);
  return select(unary(UnaryOp::is_inf, x) || unary(UnaryOp::is_nan, y), number(x, nan), result);
}

Expr floormod(const Expr& x, const Expr& y) {
  const Expr rest = rem(x, y);
  const Expr zero = number(x, 0);
  const Expr differs = ((rest < zero) && (y > zero)) || ((rest > zero) && (y < zero));
  return select(differs, rest + y, rest);
}

}  // namespace gossamer::passes::math
