#include "passes/number_codes.h"

#include <bit>

#include "ir/build.h"
#include "ir/small_float.h"

namespace gossamer::passes {

using namespace ir;

namespace {

constexpr int64_t f32_infinity = 0x7f800000;

Type words(const Expr& like) { return like->type.with_dtype(DType::i32); }
Type singles(const Expr& like) { return like->type.with_dtype(DType::f32); }
Expr word(const Expr& like, int64_t value) { return constant_int(words(like), value); }
Expr bits_and(const Expr& a, int64_t mask) { return binary(BinaryOp::bit_and, a, word(a, mask)); }
Expr bits_or(const Expr& a, const Expr& b) { return binary(BinaryOp::bit_or, a, b); }
Expr left(const Expr& a, int bits) { return binary(BinaryOp::shl, a, word(a, bits)); }
Expr right(const Expr& a, int bits) { return binary(BinaryOp::shr, a, word(a, bits)); }
Expr as_single(const Expr& bits) { return bitcast(singles(bits), bits); }
Expr as_word(const Expr& value) { return bitcast(words(value), value); }

Expr decode_exponent(const Expr& code) {
  const Expr smallest = word(code, 0x00400000), is_nan = word(code, 0x7fc00000);
  const Expr bits = select(code == word(code, 0), smallest, left(code, 23));
  return as_single(select(code == word(code, 0xff), is_nan, bits));
}

// How far the sign's bit lies below a word's.
int above_sign(const SmallFloat& format) { return 32 - std::bit_width(format.sign); }

// Up to the next power of two.
Expr encode_exponent(const Expr& value) {
  const Expr bits = bits_and(as_word(value), 0x7fffffff);
  const Expr normal = min(right(bits + word(bits, 0x7fffff), 23), word(bits, 0xfe));
  const Expr denormal = select(bits > word(bits, 0x400000), word(bits, 1), word(bits, 0));
  const Expr code = select(bits < word(bits, 0x800000), denormal, normal);
  return select(bits > word(bits, f32_infinity), word(bits, 0xff), code);
}

// Denormals are whole numbers times a power of two: no f32 denormal appears, which a GPU would
// flush.
Expr decode_float(const SmallFloat& format, const Expr& code) {
  const int m = format.mantissa;
  const Expr magnitude = bits_and(code, format.sign - 1);
  const double step = __builtin_ldexp(1, 1 - format.bias - m);
  const Expr denormal = as_word(cast(singles(code), magnitude) * step);
  const Expr normal = left(magnitude, 23 - m) + word(code, int64_t{127 - format.bias} << 23);
  Expr bits = select(magnitude < word(code, int64_t{1} << m), denormal, normal);
  if (!format.unsigned_zero && format.largest != format.sign - 1) {
    const Expr special = format.infinity ? select(magnitude == word(code, format.infinity),
                                                  word(code, f32_infinity), word(code, 0x7fc00000))
                                         : word(code, 0x7fc00000);
    bits = select(magnitude > word(code, format.largest), special, bits);
  }
  bits = bits_or(bits, left(bits_and(code, format.sign), above_sign(format)));
  if (format.unsigned_zero) {
    bits = select(code == word(code, format.nan), word(code, 0x7fc00000), bits);
  }
  return as_single(bits);
}

Expr encode_float(const SmallFloat& format, const Expr& value) {
  const int m = format.mantissa, dropped = 23 - m;
  const Expr bits = as_word(value);
  const Expr size = bits_and(bits, 0x7fffffff);
  const Expr sign = bits_and(right(bits, above_sign(format)), format.sign);
  const Expr odd = bits_and(right(size, dropped), 1);
  const int64_t below_half = (int64_t{1} << (dropped - 1)) - 1;
  const int64_t moved = int64_t{127 - format.bias} << 23;
  const Expr normal = right(size + odd + word(bits, below_half - moved), dropped);
  const double scale = __builtin_ldexp(1, format.bias - 1 + m);
  const Expr denormal = cast(words(bits), unary(UnaryOp::round, as_single(size) * scale));
  const Expr first_normal = word(bits, int64_t{128 - format.bias} << 23);
  Expr code = min(select(size < first_normal, denormal, normal), word(bits, format.largest));
  const Expr is_nan = size > word(bits, f32_infinity);
  if (format.unsigned_zero) {
    code = select(code == word(bits, 0), code, bits_or(code, sign));
    return select(is_nan, word(bits, format.nan), code);
  }
  // Those of six and four bits have no NaN: negative zero whatever the sign.
  return bits_or(select(is_nan, word(bits, format.nan), code), sign);
}

}  // namespace

Expr decode_small(DType dtype, const Expr& code) {
  const Expr wide = cast(words(code), code);
  if (!is_float(dtype)) return wide;
  return dtype == DType::f8e8m0 ? decode_exponent(wide) : decode_float(small_float(dtype), wide);
}

Expr encode_small(DType dtype, const Expr& value) {
  if (!is_float(dtype)) return trim_small(dtype, value);
  return dtype == DType::f8e8m0 ? encode_exponent(value) : encode_float(small_float(dtype), value);
}

Expr trim_small(DType dtype, const Expr& code) {
  const Expr wide = cast(words(code), code);
  const int unused = 32 - bit_width(dtype);
  return is_signed_int(dtype) ? right(left(wide, unused), unused)
                              : bits_and(wide, (int64_t{1} << bit_width(dtype)) - 1);
}

// To the neighbour in f32 whose last bit is 1, unless the value is exact: rounding that to fewer
// bits gives what rounding the value itself would.
Expr narrowed_to_odd(const Expr& value) {
  const Expr near = cast(singles(value), value), back = cast(value->type, near);
  const Expr bits = as_word(near);
  const Expr over = unary(UnaryOp::abs, back) > unary(UnaryOp::abs, value);
  const Expr other = bits + select(over, word(bits, -1), word(bits, 1));
  const Expr keep =
      Expr(back == value) || bits_and(bits, 1) == word(bits, 1) || unary(UnaryOp::is_nan, value);
  return as_single(select(keep, bits, other));
}

// The exponents differ by 112; multiplying by 2^112 moves it, and normalises denormals too.
Expr half_to_single(const Expr& bits, bool flushes) {
  const Expr h = cast(words(bits), bits);
  const Expr sign = left(bits_and(h, 0x8000), 16);
  const Expr magnitude = bits_and(h, 0x7fff);
  const Expr placed = left(magnitude, 13);
  const Expr finite =
      flushes ? select(magnitude < word(h, 0x400), as_word(cast(singles(h), magnitude) * 0x1p-24),
                       placed + word(h, 112 << 23))
              : as_word(as_single(placed) * constant(singles(h), 0x1p112));
  const Expr special = bits_or(placed, word(h, f32_infinity));
  return as_single(bits_or(select(magnitude >= word(h, 0x7c00), special, finite), sign));
}

Expr single_to_half(const Expr& value) {
  const Expr b = as_word(value);
  const Expr sign = bits_and(right(b, 16), 0x8000);
  const Expr a = bits_and(b, 0x7fffffff);
  const Expr odd = bits_and(right(a, 13), 1);
  const Expr normal = right(a + odd + word(b, 0xfff - (112 << 23)), 13);
  // Adding 1/2 leaves the bits of a denormal at the end of the sum, rounded.
  const Expr half = constant(value->type, 0.5);
  const Expr denormal = as_word(as_single(a) + half) - word(b, 0x3f000000);
  Expr result = select(a < word(b, 0x38800000), denormal, normal);
  result = select(a >= word(b, 0x477ff000), word(b, 0x7c00), result);
  result = select(a > word(b, 0x7f800000), word(b, 0x7e00), result);
  return bits_or(result, sign);
}

Expr rounded_to_half(const Expr& value) {
  const Expr b = as_word(value);
  const Expr sign = bits_and(b, int64_t{-0x80000000});
  const Expr a = bits_and(b, 0x7fffffff);
  const Expr odd = bits_and(right(a, 13), 1);
  const Expr normal = bits_and(a + odd + word(b, 0xfff), ~int64_t{0x1fff});
  // The sum's last bit is worth what that of a denormal half is.
  const Expr half = constant(value->type, 0.5);
  const Expr denormal = as_word(as_single(a) + half - half);
  Expr result = select(a < word(b, 0x38800000), denormal, normal);
  result = select(a >= word(b, 0x477ff000), word(b, 0x7f800000), result);
  result = select(a > word(b, 0x7f800000), word(b, 0x7fc00000), result);
  return as_single(bits_or(result, sign));
}

Expr bfloat_to_single(const Expr& bits) { return as_single(left(cast(words(bits), bits), 16)); }

Expr single_to_bfloat(const Expr& value) {
  const Expr b = as_word(value);
  const Expr high = bits_and(right(b, 16), 0xffff);
  const Expr rounded = bits_and(right(b + bits_and(high, 1) + word(b, 0x7fff), 16), 0xffff);
  const Expr is_nan = bits_and(b, 0x7fffffff) > word(b, 0x7f800000);
  return select(is_nan, bits_or(high, word(b, 0x40)), rounded);
}

}  // namespace gossamer::passes
