// Codes of small types to f32 or i32 and back, as arithmetic on bits.
#include <bit>

#include "ir/build.h"
#include "ir/small_float.h"
#include "passes/lower_small_types.h"

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
  Expr code;
  if (dtype == DType::f8e8m0) {
    code = encode_exponent(value);
  } else if (is_float(dtype)) {
    code = encode_float(small_float(dtype), value);
  } else {
    return trim_small(dtype, value);
  }
  return cast(value->type.with_dtype(carrier_of(dtype)), code);
}

Expr trim_small(DType dtype, const Expr& code) {
  const Expr wide = cast(words(code), code);
  const int unused = 32 - bit_width(dtype);
  const Expr trimmed = is_signed_int(dtype) ? right(left(wide, unused), unused)
                                            : bits_and(wide, (int64_t{1} << bit_width(dtype)) - 1);
  return cast(code->type.with_dtype(carrier_of(dtype)), trimmed);
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

}  // namespace gossamer::passes
