#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "codegen/wasm/instructions.h"

namespace gossamer::codegen::wasm {

using ir::BinaryOp;
using ir::DType;
using ir::UnaryOp;

namespace {

constexpr uint64_t both_words(uint32_t word) { return uint64_t{word} << 32 | word; }

Op splat_op(DType dtype) {
  switch (machine_type(dtype)) {
    case ValType::f32:
      return Op::f32x4_splat;
    case ValType::f64:
      return Op::f64x2_splat;
    case ValType::i64:
      return Op::i64x2_splat;
    default:
      return Op::i32x4_splat;
  }
}

Op extract_op(DType dtype) {
  switch (machine_type(dtype)) {
    case ValType::f32:
      return Op::f32x4_extract_lane;
    case ValType::f64:
      return Op::f64x2_extract_lane;
    case ValType::i64:
      return Op::i64x2_extract_lane;
    default:
      return Op::i32x4_extract_lane;
  }
}

BinaryOp mirrored(BinaryOp op) {
  switch (op) {
    case BinaryOp::lt:
      return BinaryOp::gt;
    case BinaryOp::le:
      return BinaryOp::ge;
    case BinaryOp::gt:
      return BinaryOp::lt;
    case BinaryOp::ge:
      return BinaryOp::le;
    default:
      return op;
  }
}

}  // namespace

ValueId Instructions::splat_i32(int64_t value) {
  return splat_bits64(both_words(static_cast<uint32_t>(value)));
}

ValueId Instructions::shuffle_words(ValueId a, ValueId b, int w0, int w1, int w2, int w3) {
  uint64_t half[2] = {0, 0};
  const int words[] = {w0, w1, w2, w3};
  for (int word = 0; word < 4; ++word) {
    for (int byte = 0; byte < 4; ++byte) {
      half[word / 2] |= static_cast<uint64_t>(4 * words[word] + byte)
                        << (8 * (4 * (word % 2) + byte));
    }
  }
  return f_.op(Op::i8x16_shuffle, ValType::v128, a, b, 0, half[0], half[1]);
}

ValueId Instructions::splat_piece(DType dtype, ValueId a) {
  const Value& value = f_[a];
  switch (value.op) {
    case Op::i32_const: {
      const auto bits = static_cast<uint32_t>(value.imm);
      return splat_i32(dtype == DType::boolean && bits != 0 ? -1 : static_cast<int64_t>(bits));
    }
    case Op::f32_const:
      return splat_i32(static_cast<int64_t>(value.imm));
    case Op::i64_const:
    case Op::f64_const:
      return splat_bits64(value.imm);
    default:
      break;
  }
  if (dtype == DType::boolean) a = i(Op::i32_sub, f_.i32(0), a);
  return v(splat_op(dtype), a);
}

Pieces Instructions::splat(ir::Type type, ValueId a) {
  return Pieces(static_cast<size_t>(piece_count(type)), splat_piece(type.dtype, a));
}

bool Instructions::is_splat(ValueId piece, DType dtype, int64_t* number) const {
  const Value& value = f_[piece];
  if (value.op == Op::v128_const && value.imm == value.imm_high) {
    if (is_wide(dtype)) {
      *number = static_cast<int64_t>(value.imm);
      return true;
    }
    *number = static_cast<int32_t>(value.imm);
    return value.imm == both_words(static_cast<uint32_t>(value.imm));
  }
  return false;
}

ValueId Instructions::extract(DType dtype, const Pieces& a, int lane) {
  const int step = lanes_per_piece(dtype);
  const ValueId piece = a[static_cast<size_t>(lane / step)];
  const Value& value = f_[piece];
  if (between(value.op, Op::i32x4_splat, Op::f64x2_splat) && value.op == splat_op(dtype) &&
      dtype != DType::boolean) {
    return value.a;
  }
  ValueId result = f_.op(extract_op(dtype), machine_type(dtype), piece, 0, 0, 0, 1, lane % step);
  if (dtype == DType::boolean) result = i(Op::i32_and, result, f_.i32(1));
  return result;
}

ValueId Instructions::replace(DType dtype, ValueId piece, int lane, ValueId a) {
  if (dtype == DType::boolean) a = i(Op::i32_sub, f_.i32(0), a);
  return f_.op(extract_op(dtype) + 1, ValType::v128, piece, a, 0, 0, 1, lane);
}

Pieces Instructions::build(DType dtype, std::span<const ValueId> lanes) {
  const size_t step = static_cast<size_t>(lanes_per_piece(dtype));
  Pieces pieces;
  for (size_t first = 0; first < lanes.size(); first += step) {
    const size_t count = std::min(step, lanes.size() - first);
    // Constant lanes come from one constant.
    uint64_t half[2] = {0, 0};
    bool any_constant = false;
    ValueId lead = 0;
    for (size_t k = 0; k < count; ++k) {
      const Value& lane = f_[lanes[first + k]];
      if (between(lane.op, Op::i32_const, Op::f64_const)) {
        any_constant = true;
        uint64_t bits = lane.imm;
        if (step == 2) {
          half[k] = bits;
        } else {
          if (dtype == DType::boolean) bits = bits ? ~uint64_t{0} : 0;
          half[k / 2] |= (bits & 0xffffffffu) << (32 * (k % 2));
        }
      } else if (!lead) {
        lead = lanes[first + k];
      }
    }
    ValueId piece = any_constant || !lead ? f_.v128(half[0], half[1]) : splat_piece(dtype, lead);
    for (size_t k = 0; k < count; ++k) {
      const ValueId lane = lanes[first + k];
      if (between(f_[lane].op, Op::i32_const, Op::f64_const)) continue;
      if (!any_constant && lane == lead) continue;
      piece = replace(dtype, piece, static_cast<int>(k), lane);
    }
    pieces.push_back(piece);
  }
  return pieces;
}

ValueId Instructions::wrap_piece(DType dtype, ValueId a) {
  switch (dtype) {
    case DType::i8:
      return v(Op::i32x4_shr_s, v(Op::i32x4_shl, a, f_.i32(24)), f_.i32(24));
    case DType::i16:
      return v(Op::i32x4_shr_s, v(Op::i32x4_shl, a, f_.i32(16)), f_.i32(16));
    case DType::u8:
      return v(Op::v128_and, a, splat_i32(255));
    case DType::u16:
      return v(Op::v128_and, a, splat_i32(65535));
    default:
      return a;
  }
}

ValueId Instructions::unary_piece(UnaryOp op, DType dtype, ValueId a) {
  if (op == UnaryOp::logical_not) return v(Op::v128_not, a);
  if (op == UnaryOp::bit_not)
    return is_wide(dtype) ? v(Op::v128_not, a) : wrap_piece(dtype, v(Op::v128_not, a));
  const bool wide = is_wide(dtype);
  if (is_float(dtype)) {
    const int step = wide ? 12 : 0;  // distance of the f64x2 arithmetic from the f32x4 one
    switch (op) {
      case UnaryOp::neg:
        return v(Op::f32x4_neg + step, a);
      case UnaryOp::abs:
        return v(Op::f32x4_abs + step, a);
      case UnaryOp::sqrt:
        return v(Op::f32x4_sqrt + step, a);
      case UnaryOp::floor:
        return v(wide ? Op::f64x2_floor : Op::f32x4_floor, a);
      case UnaryOp::ceil:
        return v(wide ? Op::f64x2_ceil : Op::f32x4_ceil, a);
      case UnaryOp::trunc:
        return v(wide ? Op::f64x2_trunc : Op::f32x4_trunc, a);
      case UnaryOp::round:
        return v(wide ? Op::f64x2_nearest : Op::f32x4_nearest, a);
      case UnaryOp::is_nan:
        return wide ? 0 : v(Op::f32x4_ne, a, a);
      case UnaryOp::is_inf:
        return wide ? 0 : v(Op::f32x4_eq, v(Op::f32x4_abs, a), splat_i32(0x7f800000));
      default:
        return 0;
    }
  }
  switch (op) {
    case UnaryOp::neg:
      return wide ? v(Op::i64x2_neg, a) : wrap_piece(dtype, v(Op::i32x4_neg, a));
    case UnaryOp::abs:
      if (is_unsigned(dtype)) return a;
      return wide ? v(Op::i64x2_abs, a) : wrap_piece(dtype, v(Op::i32x4_abs, a));
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return a;
    default:
      return 0;
  }
}

ValueId Instructions::shift_piece(BinaryOp op, DType dtype, ValueId a, int64_t amount) {
  const bool wide = is_wide(dtype), left = op == BinaryOp::shl, uns = is_unsigned(dtype);
  const int bits = 8 * byte_size(dtype);
  if (amount < 0 || amount >= bits) {
    if (left || uns) return splat_i32(0);
    amount = bits - 1;
  }
  if (amount == 0) return a;
  const Op name = (wide ? Op::i64x2_shl : Op::i32x4_shl) + (left ? 0 : uns ? 2 : 1);
  const ValueId result = v(name, a, f_.i32(amount));
  return wide || !left ? result : wrap_piece(dtype, result);
}

// A 64-bit mask of two lanes.
ValueId Instructions::compare_wide(BinaryOp op, DType dtype, ValueId a, ValueId b) {
  if (dtype == DType::f64) {
    switch (op) {
      case BinaryOp::eq:
        return v(Op::f64x2_eq, a, b);
      case BinaryOp::ne:
        return v(Op::f64x2_ne, a, b);
      case BinaryOp::lt:
        return v(Op::f64x2_lt, a, b);
      case BinaryOp::gt:
        return v(Op::f64x2_gt, a, b);
      case BinaryOp::le:
        return v(Op::f64x2_le, a, b);
      default:
        return v(Op::f64x2_ge, a, b);
    }
  }
  if (op == BinaryOp::eq) return v(Op::i64x2_eq, a, b);
  if (op == BinaryOp::ne) return v(Op::i64x2_ne, a, b);
  if (is_unsigned(dtype)) {
    const ValueId top = splat_bits64(uint64_t{1} << 63);
    a = v(Op::v128_xor, a, top);
    b = v(Op::v128_xor, b, top);
  }
  switch (op) {
    case BinaryOp::lt:
      return v(Op::i64x2_lt_s, a, b);
    case BinaryOp::gt:
      return v(Op::i64x2_gt_s, a, b);
    case BinaryOp::le:
      return v(Op::i64x2_le_s, a, b);
    default:
      return v(Op::i64x2_ge_s, a, b);
  }
}

ValueId Instructions::binary_piece(BinaryOp op, DType dtype, ValueId a, ValueId b) {
  const bool wide = is_wide(dtype), uns = is_unsigned(dtype);
  int64_t known = 0;
  if (is_float(dtype)) {
    const int step = wide ? 12 : 0;
    switch (op) {
      case BinaryOp::add:
        return v(Op::f32x4_add + step, a, b);
      case BinaryOp::sub:
        return v(Op::f32x4_sub + step, a, b);
      case BinaryOp::mul:
        return v(Op::f32x4_mul + step, a, b);
      case BinaryOp::div:
        return v(Op::f32x4_div + step, a, b);
      case BinaryOp::min:
      case BinaryOp::max: {
        if (is_splat(a, dtype, &known)) std::swap(a, b);
        const bool constant =
            is_splat(b, dtype, &known) &&
            (wide ? !std::isnan(std::bit_cast<double>(known))
                  : !std::isnan(std::bit_cast<float>(static_cast<int32_t>(known))));
        // The pseudo-minimum is one instruction of the processor and hands on a NaN in its first
        // operand.
        const Op name = constant ? (op == BinaryOp::min ? Op::f32x4_pmin : Op::f32x4_pmax)
                                 : (op == BinaryOp::min ? Op::f32x4_min : Op::f32x4_max);
        return v(name + step, a, b);
      }
      case BinaryOp::eq:
        return v(Op::f32x4_eq, a, b);
      case BinaryOp::ne:
        return v(Op::f32x4_ne, a, b);
      case BinaryOp::lt:
        return v(Op::f32x4_lt, a, b);
      case BinaryOp::gt:
        return v(Op::f32x4_gt, a, b);
      case BinaryOp::le:
        return v(Op::f32x4_le, a, b);
      case BinaryOp::ge:
        return v(Op::f32x4_ge, a, b);
      default:
        return 0;
    }
  }
  const int u = uns ? 1 : 0;
  switch (op) {
    case BinaryOp::add:
      return wide ? v(Op::i64x2_add, a, b) : wrap_piece(dtype, v(Op::i32x4_add, a, b));
    case BinaryOp::sub:
      return wide ? v(Op::i64x2_sub, a, b) : wrap_piece(dtype, v(Op::i32x4_sub, a, b));
    case BinaryOp::mul:
      return wide ? v(Op::i64x2_mul, a, b) : wrap_piece(dtype, v(Op::i32x4_mul, a, b));
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return v(Op::v128_and, a, b);
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return v(Op::v128_or, a, b);
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return v(Op::v128_xor, a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return is_splat(b, dtype, &known) ? shift_piece(op, dtype, a, known) : 0;
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      if (!is_splat(b, dtype, &known) || known <= 0 || (known & (known - 1)) != 0) return 0;
      if (op == BinaryOp::floormod)
        return v(Op::v128_and, a,
                 wide ? splat_bits64(static_cast<uint64_t>(known - 1)) : splat_i32(known - 1));
      return shift_piece(BinaryOp::shr, dtype, a, std::countr_zero(static_cast<uint64_t>(known)));
    case BinaryOp::min:
    case BinaryOp::max: {
      if (!wide) return v((op == BinaryOp::min ? Op::i32x4_min_s : Op::i32x4_max_s) + u, a, b);
      const ValueId mask =
          compare_wide(op == BinaryOp::min ? BinaryOp::lt : BinaryOp::gt, dtype, a, b);
      return v(Op::v128_bitselect, a, b, mask);
    }
    case BinaryOp::eq:
      return v(Op::i32x4_eq, a, b);
    case BinaryOp::ne:
      return v(Op::i32x4_ne, a, b);
    case BinaryOp::lt:
      return v(Op::i32x4_lt_s + u, a, b);
    case BinaryOp::gt:
      return v(Op::i32x4_gt_s + u, a, b);
    case BinaryOp::le:
      return v(Op::i32x4_le_s + u, a, b);
    case BinaryOp::ge:
      return v(Op::i32x4_ge_s + u, a, b);
    default:
      return 0;
  }
}

Pieces Instructions::unary(UnaryOp op, ir::Type type, const Pieces& a) {
  if (is_wide(type.dtype) && is_float(type.dtype)) {
    if (op == UnaryOp::is_nan) return binary(BinaryOp::ne, type, a, a);
    if (op == UnaryOp::is_inf) {
      const ValueId inf =
          splat_bits64(std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity()));
      return binary(BinaryOp::eq, type, unary(UnaryOp::abs, type, a), Pieces(a.size(), inf));
    }
  }
  if (gives_boolean(op) && !is_float(type.dtype))
    return splat(type.with_dtype(DType::boolean), f_.i32(0));
  Pieces result;
  for (ValueId piece : a) {
    const ValueId made = unary_piece(op, type.dtype, piece);
    GS_CHECK(made, name_of(op), " of ", to_string(type), " has not been lowered");
    result.push_back(made);
  }
  return result;
}

Pieces Instructions::binary(BinaryOp op, ir::Type type, const Pieces& a, const Pieces& b) {
  Pieces result;
  if (is_comparison(op) && is_wide(type.dtype)) {
    const bool a_constant = f_[a[0]].op == Op::v128_const;
    for (size_t k = 0; k < a.size(); k += 2) {
      auto compare = [&](size_t at) {
        return a_constant ? compare_wide(mirrored(op), type.dtype, b[at], a[at])
                          : compare_wide(op, type.dtype, a[at], b[at]);
      };
      const ValueId low = compare(k), high = k + 1 < a.size() ? compare(k + 1) : low;
      result.push_back(shuffle_words(low, high, 0, 2, 4, 6));
    }
    return result;
  }
  for (size_t k = 0; k < a.size(); ++k) {
    const ValueId made = binary_piece(op, type.dtype, a[k], b[k]);
    if (!made) break;
    result.push_back(made);
  }
  if (result.size() == a.size()) return result;
  std::vector<ValueId> lanes;
  for (int lane = 0; lane < type.lanes; ++lane) {
    auto lane_of = [&](const Pieces& pieces) {
      int64_t known;
      if (is_splat(pieces[0], type.dtype, &known) && !is_float(type.dtype))
        return constant(type.dtype, known, 0);
      return extract(type.dtype, pieces, lane);
    };
    lanes.push_back(binary(op, type.dtype, lane_of(a), lane_of(b)));
  }
  return build(is_comparison(op) ? DType::boolean : type.dtype, lanes);
}

bool Instructions::fuses(ir::Type type) const {
  return relaxed_.simd && !type.is_scalar() && type.dtype == DType::f32;
}

Pieces Instructions::fma(ir::Type type, const Pieces& a, const Pieces& b, const Pieces& c,
                         bool negate_product) {
  if (!fuses(type)) {
    return binary(negate_product ? BinaryOp::sub : BinaryOp::add, type, c,
                  binary(BinaryOp::mul, type, a, b));
  }
  const Op name = negate_product ? Op::f32x4_relaxed_nmadd : Op::f32x4_relaxed_madd;
  Pieces result;
  for (size_t k = 0; k < a.size(); ++k) result.push_back(v(name, a[k], b[k], c[k]));
  return result;
}

Pieces Instructions::dot(const Pieces& a, const Pieces& b, const Pieces& c) {
  Pieces result;
  for (size_t k = 0; k < a.size(); ++k)
    result.push_back(v(Op::i32x4_add, v(Op::i32x4_dot_i16x8_s, a[k], b[k]), c[k]));
  return result;
}

// Without the instruction, bytes at even and at odd places are halves of two words. What is done to
// one operand is shared by all products that it is a factor of.
Pieces Instructions::dot_of_bytes(const Pieces& a, const Pieces& b, const Pieces& c) {
  const ValueId byte = f_.i32(8);
  Pieces result;
  for (size_t k = 0; k < a.size(); ++k) {
    if (relaxed_.dots) {
      result.push_back(v(Op::i32x4_relaxed_dot_i8x16_i7x16_add_s, b[k], a[k], c[k]));
      continue;
    }
    const ValueId even = v(Op::i32x4_dot_i16x8_s, v(Op::v128_and, a[k], splat_i32(0x00ff00ff)),
                           v(Op::i16x8_shr_s, v(Op::i16x8_shl, b[k], byte), byte));
    const ValueId odd =
        v(Op::i32x4_dot_i16x8_s, v(Op::i16x8_shr_u, a[k], byte), v(Op::i16x8_shr_s, b[k], byte));
    result.push_back(v(Op::i32x4_add, odd, v(Op::i32x4_add, even, c[k])));
  }
  return result;
}

Pieces Instructions::select(ir::Type type, const Pieces& condition, const Pieces& yes,
                            const Pieces& no) {
  Pieces result;
  const bool wide = is_wide(type.dtype);
  for (size_t k = 0; k < yes.size(); ++k) {
    if (yes[k] == no[k]) {
      result.push_back(yes[k]);
      continue;
    }
    ValueId mask = condition[wide ? k / 2 : k];
    if (wide) mask = v(k % 2 ? Op::i64x2_extend_high_i32x4_s : Op::i64x2_extend_low_i32x4_s, mask);
    const bool lanes = relaxed_.simd && !wide;
    const Op name = lanes ? Op::i32x4_relaxed_laneselect : Op::v128_bitselect;
    result.push_back(v(name, yes[k], no[k], mask));
  }
  return result;
}

}  // namespace gossamer::codegen::wasm
