#include <bit>

#include "codegen/wasm/instructions.h"

namespace gossamer::codegen::wasm {

using ir::BinaryOp;
using ir::DType;

// Between types of four lanes a piece; 0 where lanes must be converted one by one.
ValueId Instructions::narrow_cast_piece(DType to, DType from, ValueId a) {
  if (from == DType::boolean) {
    // The mask is all ones.
    if (to == DType::f32) return v(Op::v128_and, a, splat_i32(std::bit_cast<int32_t>(1.0f)));
    return v(Op::v128_and, a, splat_i32(1));
  }
  if (to == DType::boolean) {
    return v(from == DType::f32 ? Op::f32x4_ne : Op::i32x4_ne, a, splat_i32(0));
  }
  if (from == DType::f32) {
    const bool uns = is_unsigned(to);
    ValueId truncated = v(uns ? Op::i32x4_trunc_sat_f32x4_u : Op::i32x4_trunc_sat_f32x4_s, a);
    if (byte_size(to) >= 4) return truncated;
    const int bits = 8 * byte_size(to);
    if (uns) return v(Op::i32x4_min_u, truncated, splat_i32((1 << bits) - 1));
    const int top = (1 << (bits - 1)) - 1;
    return v(Op::i32x4_max_s, v(Op::i32x4_min_s, truncated, splat_i32(top)), splat_i32(-top - 1));
  }
  if (to == DType::f32) {
    return v(from == DType::u32 ? Op::f32x4_convert_i32x4_u : Op::f32x4_convert_i32x4_s, a);
  }
  // A wider type holds all values of a narrower one of the same or unsigned kind.
  const bool holds = byte_size(to) > byte_size(from) && (is_unsigned(from) || !is_unsigned(to));
  return holds ? a : wrap_piece(to, a);
}

Pieces Instructions::cast(DType to, ir::Type from, const Pieces& a) {
  if (to == from.dtype) return a;
  const bool wide_to = is_wide(to), wide_from = is_wide(from.dtype);
  const size_t count = static_cast<size_t>(piece_count(from.with_dtype(to)));
  Pieces result;
  if (!wide_to && !wide_from) {
    for (ValueId piece : a) result.push_back(narrow_cast_piece(to, from.dtype, piece));
    return result;
  }
  if (to == DType::boolean) {
    return binary(BinaryOp::ne, from, a, Pieces(a.size(), splat_i32(0)));
  }
  if (wide_to && !wide_from) {
    const bool uns = is_unsigned(from.dtype);
    for (size_t k = 0; k < count; ++k) {
      const ValueId half = a[k / 2];
      const bool high = k % 2;
      if (from.dtype == DType::boolean) {
        const ValueId mask =
            v(high ? Op::i64x2_extend_high_i32x4_s : Op::i64x2_extend_low_i32x4_s, half);
        result.push_back(v(Op::v128_and, mask,
                           splat_bits64(to == DType::f64 ? std::bit_cast<uint64_t>(1.0) : 1)));
      } else if (to == DType::f64) {
        const ValueId low = high ? shuffle_words(half, half, 2, 3, 2, 3) : half;
        result.push_back(v(from.dtype == DType::f32 ? Op::f64x2_promote_low_f32x4
                           : uns                    ? Op::f64x2_convert_low_i32x4_u
                                                    : Op::f64x2_convert_low_i32x4_s,
                           low));
      } else if (!is_float(from.dtype)) {
        const Op low = uns ? Op::i64x2_extend_low_i32x4_u : Op::i64x2_extend_low_i32x4_s;
        result.push_back(v(low + (high ? 1 : 0), half));
      }
    }
    if (result.size() == count) return result;
  } else if (wide_from && !wide_to) {
    for (size_t k = 0; k < a.size(); k += 2) {
      const ValueId low = a[k], high = k + 1 < a.size() ? a[k + 1] : a[k];
      if (!is_float(from.dtype) && !is_float(to)) {
        result.push_back(wrap_piece(to, shuffle_words(low, high, 0, 2, 4, 6)));
      } else if (from.dtype == DType::f64) {
        const Op name = to == DType::f32  ? Op::f32x4_demote_f64x2_zero
                        : is_unsigned(to) ? Op::i32x4_trunc_sat_f64x2_u_zero
                                          : Op::i32x4_trunc_sat_f64x2_s_zero;
        if (to != DType::f32 && byte_size(to) < 4) break;
        result.push_back(shuffle_words(v(name, low), v(name, high), 0, 1, 4, 5));
      }
    }
    if (result.size() == count) return result;
  } else if (!is_float(to) && !is_float(from.dtype)) {
    return a;
  }
  std::vector<ValueId> lanes;
  for (int lane = 0; lane < from.lanes; ++lane) {
    lanes.push_back(cast(to, from.dtype, extract(from.dtype, a, lane)));
  }
  return build(to, lanes);
}

Pieces Instructions::bitcast(DType to, ir::Type from, const Pieces& a) {
  GS_CHECK(byte_size(to) == byte_size(from.dtype), "bitcast of ", to_string(from),
           " changes lanes");
  if (byte_size(to) >= 4) return a;
  Pieces result;
  for (ValueId piece : a) result.push_back(wrap_piece(to, piece));
  return result;
}

}  // namespace gossamer::codegen::wasm
