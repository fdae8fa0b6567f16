#include "passes/conversions.h"

#include "ir/build.h"
#include "passes/number_codes.h"

namespace gossamer::passes {

using namespace ir;

namespace {

Type as_single(Type type) { return type.with_dtype(DType::f32); }
// What a small type's arithmetic is done in.
DType wide(DType small) { return is_float(small) ? DType::f32 : DType::i32; }

bool fits(DType from, DType to) {
  if (from == to) return true;
  if (!is_int(from) || from == DType::index) return false;
  const int have = byte_size(from), want = byte_size(to);
  return is_unsigned_int(from) ? have < want || (have == want && is_unsigned_int(to))
                               : is_signed_int(to) && have <= want;
}

// Whether a value cut from a word has the range of a narrow type already.
bool is_cut_to(const Expr& value, DType narrow) {
  const auto* cut = as<Binary>(value);
  const int bits = 8 * byte_size(narrow);
  if (!cut) return false;
  const auto* splat = as<Broadcast>(cut->b);
  const auto by = as_int(splat ? splat->a : cut->b);
  if (!by) return false;
  return is_unsigned_int(narrow)
             ? cut->op == BinaryOp::bit_and && *by >= 0 && *by < int64_t{1} << bits
             : cut->op == BinaryOp::shr && *by >= 32 - bits && cut->type.dtype == DType::i32;
}

// What is rounded to a small type: of f32 or i32.
Expr number_of_small(DType small, DType from, Expr a) {
  const Type single = as_single(a->type), word = a->type.with_dtype(DType::i32);
  if (is_float(small)) {
    if (a->type.dtype == DType::f64 && small != DType::f8e8m0) a = narrowed_to_odd(a);
    return cast(single, a);
  }
  if (is_float(from)) {
    a = min(max(cast(word, a), cast(word, lowest(Type(small, word.lanes)))),
            cast(word, highest(Type(small, word.lanes))));
  }
  return cast(word, a);
}

}  // namespace

bool Conversions::is_narrow(DType dtype) const {
  return rules_.words && is_int(dtype) && dtype != DType::index && byte_size(dtype) < 4;
}

Expr Conversions::wrapped(DType narrow, const Expr& value) const {
  if (!is_narrow(narrow)) return value;
  const Type type = value->type;
  const int bits = 8 * byte_size(narrow);
  if (is_unsigned_int(narrow)) {
    return binary(BinaryOp::bit_and, value, constant_int(type, (1 << bits) - 1));
  }
  const Expr count = constant_int(type, 32 - bits);
  return binary(BinaryOp::shr, binary(BinaryOp::shl, value, count), count);
}

Expr Conversions::number(DType half, const Expr& bits) {
  const auto decoded = [&] {
    if (half == DType::bf16) return bfloat_to_single(bits);
    if (!rules_.converts_halves) return half_to_single(bits, rules_.words);
    return cast(as_single(bits->type), bitcast(bits->type.with_dtype(half), bits));
  };
  Expr value = decoded();
  bits_of_.emplace(value.get(), Origin{value, bits, half});
  return value;
}

// Those that `value` was made of, where it was; else its encoding.
Expr Conversions::bits(DType half, const Expr& value) const {
  auto found = bits_of_.find(value.get());
  if (found != bits_of_.end() && found->second.half == half) return found->second.bits;
  const Type type = value->type.with_dtype(computed(DType::u16));
  if (half == DType::bf16) return cast(type, single_to_bfloat(value));
  if (!rules_.converts_halves) return cast(type, single_to_half(value));
  return bitcast(type, cast(value->type.with_dtype(half), value));
}

Expr Conversions::as_stored(DType half, const Expr& value) const {
  const bool is_exact = as<Load>(value) || bits_of_.contains(value.get());
  if (is_exact || as_float(value)) return value;
  return half == DType::f16 ? rounded_to_half(value) : bfloat_to_single(single_to_bfloat(value));
}

Expr Conversions::rounded(DType half, const Expr& value) {
  if (rules_.words) return value;  // where it is stored, if at all
  const Expr made = number(half, bits(half, value));
  // A float that is only rounded need not pass through the bits of a half.
  if (half == DType::f16 && !rules_.converts_halves && !bits_of_.contains(value.get()))
    rounded_.emplace(made.get(), Rounding{made, rounded_to_half(value)});
  return made;
}

Expr Conversions::code(DType small, const Expr& value) const {
  return cast(computed(value->type.with_dtype(small)), encode_small(small, value));
}

Expr Conversions::trimmed(DType small, const Expr& byte) const {
  const Expr held = cast(computed(byte->type.with_dtype(small)), byte);
  return bit_width(small) == 8 ? held : cast(held->type, trim_small(small, held));
}

Expr Conversions::converted(DType from, DType to, const Expr& a, const Expr& old) {
  if (is_small(to)) return code(to, number_of_small(to, from, a));
  if (is_small(from)) return to == DType::boolean ? a != 0 : of_number(wide(from), to, a, a);
  return of_number(from, to, a, old);
}

Expr Conversions::of_number(DType from, DType to, const Expr& a, const Expr& old) {
  if (is_half(to)) return rounded(to, cast(as_single(a->type), a));
  const Expr made = cast(computed(a->type.with_dtype(to)), a);
  // Casts of what has become f32 may have become nothing.
  if (const auto found = rounded_.find(made.get()); found != rounded_.end())
    return found->second.rounded;
  if (!is_narrow(to) || from == DType::boolean) return made;
  if (!is_float(from)) return fits(from, to) || is_cut_to(old, to) ? made : wrapped(to, made);
  const int bits = 8 * byte_size(to) - (is_signed_int(to) ? 1 : 0);
  const int64_t high = (int64_t{1} << bits) - 1, low = is_signed_int(to) ? -high - 1 : 0;
  return min(max(made, constant_int(made->type, low)), constant_int(made->type, high));
}

}  // namespace gossamer::passes
