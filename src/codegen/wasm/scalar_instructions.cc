#include <cmath>
#include <limits>

#include "codegen/wasm/instructions.h"

namespace gossamer::codegen::wasm {

using ir::BinaryOp;
using ir::DType;
using ir::UnaryOp;

ValType machine_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ValType::f32;
    case DType::f64:
      return ValType::f64;
    case DType::i64:
    case DType::u64:
      return ValType::i64;
    default:
      GS_CHECK(!is_float(dtype) && dtype != DType::string, "no machine type for ", name_of(dtype));
      return ValType::i32;
  }
}

int lanes_per_piece(DType dtype) {
  return dtype == DType::f64 || dtype == DType::i64 || dtype == DType::u64 ? 2 : 4;
}
int piece_count(ir::Type type) {
  const int step = lanes_per_piece(type.dtype);
  return (type.lanes + step - 1) / step;
}
bool is_unsigned(DType dtype) { return is_unsigned_int(dtype) || dtype == DType::boolean; }

namespace {

// An i32 instruction's counterpart for i64.
Op widen(Op op, bool wide) {
  if (!wide) return op;
  if (op == Op::i32_eqz) return Op::i64_eqz;
  if (between(op, Op::i32_eq, Op::i32_ge_u)) return op + 11;
  return op + 18;
}

Op signed_op(Op op, bool is_unsigned) { return is_unsigned ? op + 1 : op; }

int bits_of(DType dtype) { return 8 * byte_size(dtype); }

}  // namespace

ValueId Instructions::wrap(DType dtype, ValueId a) {
  const Interval r = f_[a].range;
  switch (dtype) {
    case DType::i8:
      return r.low >= -128 && r.high <= 127 ? a : i(Op::i32_extend8_s, a);
    case DType::i16:
      return r.low >= -32768 && r.high <= 32767 ? a : i(Op::i32_extend16_s, a);
    case DType::u8:
      return r.low >= 0 && r.high <= 255 ? a : i(Op::i32_and, a, f_.i32(255));
    case DType::u16:
      return r.low >= 0 && r.high <= 65535 ? a : i(Op::i32_and, a, f_.i32(65535));
    default:
      return a;
  }
}

ValueId Instructions::constant(DType dtype, int64_t integer, double number) {
  switch (machine_type(dtype)) {
    case ValType::f32:
      return f_.f32(static_cast<float>(number));
    case ValType::f64:
      return f_.f64(number);
    case ValType::i64:
      return f_.i64(integer);
    default:
      return wrap(dtype, f_.i32(integer));
  }
}

ValueId Instructions::unary(UnaryOp op, DType dtype, ValueId a) {
  const ValType type = machine_type(dtype);
  const bool is_f64 = type == ValType::f64, is_i64 = type == ValType::i64;
  const int to_f64 = is_f64 ? 14 : 0;  // distance of the f64 instructions from the f32 ones
  if (is_float(dtype)) {
    switch (op) {
      case UnaryOp::neg:
        return f_.op(Op::f32_neg + to_f64, type, a);
      case UnaryOp::abs:
        return f_.op(Op::f32_abs + to_f64, type, a);
      case UnaryOp::floor:
        return f_.op(Op::f32_floor + to_f64, type, a);
      case UnaryOp::ceil:
        return f_.op(Op::f32_ceil + to_f64, type, a);
      case UnaryOp::round:
        return f_.op(Op::f32_nearest + to_f64, type, a);
      case UnaryOp::trunc:
        return f_.op(Op::f32_trunc + to_f64, type, a);
      case UnaryOp::sqrt:
        return f_.op(Op::f32_sqrt + to_f64, type, a);
      case UnaryOp::is_nan:
        return i(is_f64 ? Op::f64_ne : Op::f32_ne, a, a);
      case UnaryOp::is_inf: {
        const double inf = std::numeric_limits<double>::infinity();
        return i(is_f64 ? Op::f64_eq : Op::f32_eq, f_.op(Op::f32_abs + to_f64, type, a),
                 constant(dtype, 0, inf));
      }
      default:
        break;
    }
    GS_CHECK(false, name_of(op), " has not been lowered");
  }
  const ValueId zero = is_i64 ? f_.i64(0) : f_.i32(0);
  switch (op) {
    case UnaryOp::neg:
      return wrap(dtype, f_.op(widen(Op::i32_sub, is_i64), type, zero, a));
    case UnaryOp::logical_not:
      return i(Op::i32_eqz, a);
    case UnaryOp::bit_not:
      return wrap(dtype,
                  f_.op(widen(Op::i32_xor, is_i64), type, a, is_i64 ? f_.i64(-1) : f_.i32(-1)));
    case UnaryOp::abs: {
      if (is_unsigned(dtype) || (!is_i64 && f_[a].range.low >= 0)) return a;
      const ValueId sign =
          f_.op(widen(Op::i32_shr_s, is_i64), type, a, is_i64 ? f_.i64(63) : f_.i32(31));
      const ValueId flipped = f_.op(widen(Op::i32_xor, is_i64), type, a, sign);
      return wrap(dtype, f_.op(widen(Op::i32_sub, is_i64), type, flipped, sign));
    }
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return a;
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      return f_.i32(0);
    default:
      break;
  }
  GS_CHECK(false, name_of(op), " of ", name_of(dtype), " has not been lowered");
}

ValueId Instructions::select(DType dtype, ValueId condition, ValueId yes, ValueId no) {
  if (yes == no) return yes;
  if (int64_t known; f_.is_i32(condition, &known)) return known ? yes : no;
  return f_.op(Op::select, machine_type(dtype), yes, no, condition);
}

// Division by zero gives 0, and nothing traps.
ValueId Instructions::integer_division(BinaryOp op, DType dtype, ValueId a, ValueId b) {
  const ValType type = machine_type(dtype);
  const bool wide = type == ValType::i64;
  auto make = [&](Op name, ValueId x, ValueId y) { return f_.op(widen(name, wide), type, x, y); };
  auto compare = [&](Op name, ValueId x, ValueId y) { return i(widen(name, wide), x, y); };
  auto number = [&](int64_t n) { return wide ? f_.i64(n) : f_.i32(n); };
  const bool wants_rem = op == BinaryOp::rem || op == BinaryOp::floormod;
  const bool floors = op == BinaryOp::floordiv || op == BinaryOp::floormod;
  const Interval ra = f_[a].range, rb = f_[b].range;
  int64_t divisor = 0;
  const bool known =
      f_.is_i32(b, &divisor) ||
      (f_[b].op == Op::i64_const && ((divisor = static_cast<int64_t>(f_[b].imm)), true));
  if (known && divisor == 0) return number(0);

  const bool natural = is_unsigned(dtype) || (!wide && ra.low >= 0 && rb.low >= 0);
  if (natural) {
    const Op name = wants_rem ? Op::i32_rem_u : Op::i32_div_u;
    if (known || (!wide && rb.low > 0)) return make(name, a, b);
    const ValueId is_zero = wide ? i(Op::i64_eqz, b) : i(Op::i32_eqz, b);
    const ValueId safe = f_.op(Op::select, type, number(1), b, is_zero);
    const ValueId result = make(name, a, safe);
    return wants_rem ? result : f_.op(Op::select, type, number(0), result, is_zero);
  }
  if (known && divisor == -1)
    return wants_rem ? number(0) : wrap(dtype, make(Op::i32_sub, number(0), a));
  if (known && floors && divisor > 0 && (divisor & (divisor - 1)) == 0) {
    if (wants_rem) return make(Op::i32_and, a, number(divisor - 1));
    return make(Op::i32_shr_s, a, number(__builtin_ctzll(static_cast<uint64_t>(divisor))));
  }
  ValueId quotient;
  if (known || (!wide && rb.low > 0)) {
    quotient = make(Op::i32_div_s, a, b);
  } else {
    const ValueId special =
        i(Op::i32_or, compare(Op::i32_eq, b, number(0)), compare(Op::i32_eq, b, number(-1)));
    const ValueId safe = f_.op(Op::select, type, number(1), b, special);
    quotient =
        f_.op(Op::select, type, make(Op::i32_mul, a, b), make(Op::i32_div_s, a, safe), special);
  }
  if (op == BinaryOp::div) return wrap(dtype, quotient);
  // By zero the quotient is 0, which would leave a itself.
  ValueId rest = make(Op::i32_sub, a, make(Op::i32_mul, quotient, b));
  if (!known && (wide || rb.low <= 0)) {
    rest = f_.op(Op::select, type, number(0), rest, compare(Op::i32_eq, b, number(0)));
  }
  if (op == BinaryOp::rem) return rest;
  ValueId result;
  if (known && divisor > 0) {
    const ValueId below =
        make(Op::i32_shr_s, rest, number(wide ? 63 : 31));  // -1 where it must step down
    result = wants_rem ? make(Op::i32_add, rest, make(Op::i32_and, below, b))
                       : make(Op::i32_add, quotient, below);
    if (!wide) {
      auto floor_of = [&](int64_t n) {
        return n >= 0 ? n / divisor : -((divisor - 1 - n) / divisor);
      };
      f_.set_range(result, wants_rem ? Interval{0, divisor - 1}
                                     : Interval{floor_of(ra.low), floor_of(ra.high)});
    }
    return result;
  }
  const ValueId differs = compare(Op::i32_lt_s, make(Op::i32_xor, rest, b), number(0));
  const ValueId steps = i(Op::i32_and, differs, compare(Op::i32_ne, rest, number(0)));
  if (wants_rem) return make(Op::i32_add, rest, f_.op(Op::select, type, b, number(0), steps));
  return wrap(dtype,
              make(Op::i32_sub, quotient, wide ? f_.op(Op::i64_extend_i32_u, type, steps) : steps));
}

ValueId Instructions::shift(BinaryOp op, DType dtype, ValueId a, ValueId b) {
  const ValType type = machine_type(dtype);
  const bool wide = type == ValType::i64;
  auto number = [&](int64_t n) { return wide ? f_.i64(n) : f_.i32(n); };
  const bool left = op == BinaryOp::shl, fills = !left && !is_unsigned(dtype);
  const Op name = left ? Op::i32_shl : signed_op(Op::i32_shr_s, is_unsigned(dtype));
  const int bits = bits_of(dtype);
  auto make = [&](ValueId amount) {
    return wrap(dtype, f_.op(widen(name, wide), type, a, amount));
  };
  int64_t amount = 0;
  const bool known = f_.is_i32(b, &amount) || (f_[b].op == Op::i64_const &&
                                               ((amount = static_cast<int64_t>(f_[b].imm)), true));
  if (known) {
    if (amount >= 0 && amount < bits) return make(b);
    return fills ? make(number(bits - 1)) : number(0);
  }
  const ValueId fits = i(widen(Op::i32_lt_u, wide), b, number(bits));
  if (fills) return make(f_.op(Op::select, type, b, number(bits - 1), fits));
  return f_.op(Op::select, type, make(b), number(0), fits);
}

ValueId Instructions::binary(BinaryOp op, DType dtype, ValueId a, ValueId b) {
  const ValType type = machine_type(dtype);
  const bool is_f64 = type == ValType::f64, is_i64 = type == ValType::i64;
  if (is_float(dtype)) {
    const int to_f64 = is_f64 ? 14 : 0, compare_f64 = is_f64 ? 6 : 0;
    switch (op) {
      case BinaryOp::add:
        return f_.op(Op::f32_add + to_f64, type, a, b);
      case BinaryOp::sub:
        return f_.op(Op::f32_sub + to_f64, type, a, b);
      case BinaryOp::mul:
        return f_.op(Op::f32_mul + to_f64, type, a, b);
      case BinaryOp::div:
        return f_.op(Op::f32_div + to_f64, type, a, b);
      case BinaryOp::min:
        return f_.op(Op::f32_min + to_f64, type, a, b);
      case BinaryOp::max:
        return f_.op(Op::f32_max + to_f64, type, a, b);
      case BinaryOp::eq:
        return i(Op::f32_eq + compare_f64, a, b);
      case BinaryOp::ne:
        return i(Op::f32_ne + compare_f64, a, b);
      case BinaryOp::lt:
        return i(Op::f32_lt + compare_f64, a, b);
      case BinaryOp::gt:
        return i(Op::f32_gt + compare_f64, a, b);
      case BinaryOp::le:
        return i(Op::f32_le + compare_f64, a, b);
      case BinaryOp::ge:
        return i(Op::f32_ge + compare_f64, a, b);
      default:
        break;
    }
    GS_CHECK(false, name_of(op), " has not been lowered");
  }
  const bool uns = is_unsigned(dtype);
  auto make = [&](Op name) { return wrap(dtype, f_.op(widen(name, is_i64), type, a, b)); };
  auto compare = [&](Op name) { return i(widen(name, is_i64), a, b); };
  switch (op) {
    case BinaryOp::add:
      return make(Op::i32_add);
    case BinaryOp::sub:
      return make(Op::i32_sub);
    case BinaryOp::mul:
      return make(Op::i32_mul);
    case BinaryOp::div:
    case BinaryOp::rem:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      return integer_division(op, dtype, a, b);
    case BinaryOp::min:
      return f_.op(Op::select, type, a, b, compare(signed_op(Op::i32_lt_s, uns)));
    case BinaryOp::max:
      return f_.op(Op::select, type, a, b, compare(signed_op(Op::i32_gt_s, uns)));
    case BinaryOp::eq:
      return compare(Op::i32_eq);
    case BinaryOp::ne:
      return compare(Op::i32_ne);
    case BinaryOp::lt:
      return compare(signed_op(Op::i32_lt_s, uns));
    case BinaryOp::le:
      return compare(signed_op(Op::i32_le_s, uns));
    case BinaryOp::gt:
      return compare(signed_op(Op::i32_gt_s, uns));
    case BinaryOp::ge:
      return compare(signed_op(Op::i32_ge_s, uns));
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return f_.op(widen(Op::i32_and, is_i64), type, a, b);
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return f_.op(widen(Op::i32_or, is_i64), type, a, b);
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return f_.op(widen(Op::i32_xor, is_i64), type, a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return shift(op, dtype, a, b);
    default:
      break;
  }
  GS_CHECK(false, name_of(op), " of ", name_of(dtype), " has not been lowered");
}

ValueId Instructions::cast(DType to, DType from, ValueId a) {
  if (to == from) return a;
  const ValType target = machine_type(to), source = machine_type(from);
  const bool uns = is_unsigned(from);
  if (to == DType::boolean) return binary(BinaryOp::ne, from, a, constant(from, 0, 0));
  if (is_float(from)) {
    if (is_float(to)) {
      if (target == source) return a;
      return f_.op(target == ValType::f64 ? Op::f64_promote_f32 : Op::f32_demote_f64, target, a);
    }
    const int to_u = is_unsigned(to) ? 1 : 0, from_f64 = source == ValType::f64 ? 2 : 0;
    if (target == ValType::i64) return f_.op(Op::i64_trunc_sat_f32_s + from_f64 + to_u, target, a);
    const ValueId truncated = f_.op(Op::i32_trunc_sat_f32_s + from_f64 + to_u, target, a);
    return float_to_small(to, truncated);
  }
  if (is_float(to)) {
    const int step = (source == ValType::i64 ? 2 : 0) + (uns && byte_size(from) >= 4 ? 1 : 0);
    return f_.op((target == ValType::f64 ? Op::f64_convert_i32_s : Op::f32_convert_i32_s) + step,
                 target, a);
  }
  if (target == ValType::i64) {
    if (source == ValType::i64) return a;
    return f_.op(uns ? Op::i64_extend_i32_u : Op::i64_extend_i32_s, target, a);
  }
  if (source == ValType::i64) a = i(Op::i32_wrap_i64, a);
  return wrap(to, a);
}

ValueId Instructions::float_to_small(DType to, ValueId truncated) {
  if (byte_size(to) >= 4) return truncated;
  const int bits = bits_of(to);
  if (is_unsigned(to))
    return binary(BinaryOp::min, DType::u32, truncated, f_.i32((int64_t{1} << bits) - 1));
  const int64_t top = (int64_t{1} << (bits - 1)) - 1;
  const ValueId capped = binary(BinaryOp::min, DType::i32, truncated, f_.i32(top));
  return binary(BinaryOp::max, DType::i32, capped, f_.i32(-top - 1));
}

ValueId Instructions::bitcast(DType to, DType from, ValueId a) {
  const ValType target = machine_type(to), source = machine_type(from);
  if (target == source) return wrap(to, a);
  switch (target) {
    case ValType::f32:
      return f_.op(Op::f32_reinterpret_i32, target, a);
    case ValType::f64:
      return f_.op(Op::f64_reinterpret_i64, target, a);
    case ValType::i64:
      return f_.op(Op::i64_reinterpret_f64, target, a);
    default:
      return f_.op(Op::i32_reinterpret_f32, target, a);
  }
}

}  // namespace gossamer::codegen::wasm
