#include "ops/conversion.h"

namespace gossamer::ops {
namespace {

using ir::BinaryOp;

struct Overflow {
  double from;    // what rounds to the next number after the largest
  bool included;  // whether this number itself does
  uint8_t code;   // of what comes of it
  bool is_signed;
};

Overflow overflow_of(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn:
      return {464, false, 0x7f, true};
    case DType::f8e4m3fnuz:
      return {248, true, 0x80, false};
    case DType::f8e5m2:
      return {61440, true, 0x7c, true};
    default:
      return {61440, true, 0x80, false};  // f8e5m2fnuz
  }
}

// Rounds and saturates, but what is too large becomes infinity, or NaN where there is none.
Expr unsaturated(const Expr& x, DType to) {
  const Overflow over = overflow_of(to);
  const Expr size = ir::abs(x);
  const Expr too_large = over.included ? size >= over.from : size > over.from;
  Expr code = ir::constant_int(DType::u8, over.code);
  if (over.is_signed) code = ir::select(x < 0, ir::constant_int(DType::u8, 0x80 | over.code), code);
  return ir::select(too_large, ir::bitcast(to, code), ir::cast(to, x));
}

// The exponent of f32 bits, in steps of its last bit; below the smallest normal number the only
// power of two is the middle.
Expr to_exponent(const Expr& x, const Conversion& conversion) {
  const auto word = [](int64_t value) { return ir::constant_int(DType::i32, value); };
  const auto is_normal_from = 0x800000;
  const bool down = conversion.rounding == Conversion::down,
             up = conversion.rounding == Conversion::up;
  const Expr bits = ir::binary(BinaryOp::bit_and, ir::bitcast(DType::i32, x), word(0x7fffffff));
  const Expr added = bits + word(down ? 0 : up ? 0x7fffff : 0x400000);
  const Expr normal = ir::binary(BinaryOp::shr, added, word(23));
  Expr denormal = word(0);
  if (!down)
    denormal = ir::select(up ? bits > word(0x400000) : bits >= word(0x600000), word(1), word(0));
  Expr code = ir::select(bits < word(is_normal_from), denormal, normal);
  Expr invalid = bits > word(0x7f800000);
  if (conversion.saturate) {
    code = ir::min(code, word(0xfe));
  } else {
    invalid = Expr(ir::Condition(invalid) || bits < word(0x400000));
  }
  return ir::bitcast(DType::f8e8m0, ir::cast(DType::u8, ir::select(invalid, word(0xff), code)));
}

}  // namespace

Result<Conversion> conversion_of(const Builder& b) {
  Conversion conversion;
  conversion.saturate = b.integer("saturate") != 0;
  const std::string mode = b.text("round_mode");
  if (mode == "down") {
    conversion.rounding = Conversion::down;
  } else if (mode == "nearest") {
    conversion.rounding = Conversion::nearest;
  } else if (mode != "up") {
    return b.error(cat("`round_mode` is \"", mode, "\""), "it is up, down or nearest");
  }
  return conversion;
}

Expr converted(const Expr& x, DType to, const Conversion& conversion) {
  const DType from = x->type.dtype;
  if (from == to || !ir::is_small(to)) return ir::cast(to, x);
  if (ir::is_int(to)) {
    // Cast keeps the low bits, of floats too.
    return ir::cast(to, ir::is_float(from) ? ir::cast(DType::i32, x) : x);
  }
  if (ir::bit_width(to) < 8) return ir::cast(to, x);
  const Expr wide = from == DType::f64 ? x : ir::cast(DType::f32, x);
  if (to != DType::f8e8m0) return conversion.saturate ? ir::cast(to, x) : unsaturated(wide, to);
  if (conversion.saturate && conversion.rounding == Conversion::up) return ir::cast(to, x);
  return to_exponent(ir::cast(DType::f32, x), conversion);
}

}  // namespace gossamer::ops
