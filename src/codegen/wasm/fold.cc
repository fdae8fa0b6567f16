// Simplifying i32 operations as they are made, and the bounds of their results.
#include <algorithm>
#include <bit>

#include "codegen/wasm/function.h"

namespace gossamer::codegen::wasm {
namespace {

bool fold_constants(Op op, int32_t a, int32_t b, int64_t* result) {
  const auto ua = static_cast<uint32_t>(a), ub = static_cast<uint32_t>(b);
  switch (op) {
    case Op::i32_add:
      *result = static_cast<int32_t>(ua + ub);
      return true;
    case Op::i32_sub:
      *result = static_cast<int32_t>(ua - ub);
      return true;
    case Op::i32_mul:
      *result = static_cast<int32_t>(ua * ub);
      return true;
    case Op::i32_and:
      *result = a & b;
      return true;
    case Op::i32_or:
      *result = a | b;
      return true;
    case Op::i32_xor:
      *result = a ^ b;
      return true;
    case Op::i32_shl:
      *result = static_cast<int32_t>(ua << (ub & 31));
      return true;
    case Op::i32_shr_s:
      *result = a >> (ub & 31);
      return true;
    case Op::i32_shr_u:
      *result = static_cast<int32_t>(ua >> (ub & 31));
      return true;
    case Op::i32_div_u:
      if (b == 0) return false;
      *result = static_cast<int32_t>(ua / ub);
      return true;
    case Op::i32_rem_u:
      if (b == 0) return false;
      *result = static_cast<int32_t>(ua % ub);
      return true;
    case Op::i32_div_s:
      if (b == 0 || b == -1) return false;
      *result = a / b;
      return true;
    case Op::i32_rem_s:
      if (b == 0 || b == -1) return false;
      *result = a % b;
      return true;
    case Op::i32_eq:
      *result = a == b;
      return true;
    case Op::i32_ne:
      *result = a != b;
      return true;
    case Op::i32_lt_s:
      *result = a < b;
      return true;
    case Op::i32_gt_s:
      *result = a > b;
      return true;
    case Op::i32_le_s:
      *result = a <= b;
      return true;
    case Op::i32_ge_s:
      *result = a >= b;
      return true;
    case Op::i32_lt_u:
      *result = ua < ub;
      return true;
    case Op::i32_gt_u:
      *result = ua > ub;
      return true;
    case Op::i32_le_u:
      *result = ua <= ub;
      return true;
    case Op::i32_ge_u:
      *result = ua >= ub;
      return true;
    default:
      return false;
  }
}

bool is_power_of_two(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }
int log2_of(int64_t n) { return std::countr_zero(static_cast<uint64_t>(n)); }

Interval fit(int64_t low, int64_t high) {
  const Interval all;
  // Out of 32 bits the operation wraps, and anything may come out.
  return low < all.low || high > all.high ? all : Interval{low, high};
}

}  // namespace

// A value equal to the operation's result that is there already or cheaper; 0 where there is none.
ValueId Function::fold(Op op, ValueId a, ValueId b) {
  if (op == Op::i32_eqz) {
    if (int64_t x; is_i32(a, &x)) return i32(x == 0);
    if (const Value& v = values_[a]; between(v.op, Op::i32_eq, Op::i32_ge_u)) {
      // The comparison's opposite: eq ne, lt ge, gt le.
      static constexpr Op opposite[] = {Op::i32_ne,   Op::i32_eq,   Op::i32_ge_s, Op::i32_ge_u,
                                        Op::i32_le_s, Op::i32_le_u, Op::i32_gt_s, Op::i32_gt_u,
                                        Op::i32_lt_s, Op::i32_lt_u};
      const auto which = static_cast<uint32_t>(v.op) - static_cast<uint32_t>(Op::i32_eq);
      return this->op(opposite[which], ValType::i32, v.a, v.b);
    }
    return 0;
  }
  if (!between(op, Op::i32_eq, Op::i32_ge_u) && !between(op, Op::i32_add, Op::i32_shr_u)) return 0;
  int64_t x = 0, y = 0;
  const bool known_a = is_i32(a, &x), known_b = is_i32(b, &y);
  if (int64_t result;
      known_a && known_b &&
      fold_constants(op, static_cast<int32_t>(x), static_cast<int32_t>(y), &result)) {
    return i32(result);
  }
  const Interval p = values_[a].range, q = values_[b].range;
  switch (op) {
    case Op::i32_add:
    case Op::i32_or:
    case Op::i32_xor:
      if (known_a && x == 0) return b;
      if (known_b && y == 0) return a;
      break;
    case Op::i32_sub:
      if (known_b && y == 0) return a;
      if (a == b) return i32(0);
      break;
    case Op::i32_mul:
      if (known_a && !known_b) return this->op(op, ValType::i32, b, a);
      if (known_b && y == 0) return b;
      if (known_b && y == 1) return a;
      if (known_b && is_power_of_two(y))
        return this->op(Op::i32_shl, ValType::i32, a, i32(log2_of(y)));
      break;
    case Op::i32_shl:
    case Op::i32_shr_s:
    case Op::i32_shr_u:
      if (known_b && y == 0) return a;
      break;
    case Op::i32_div_u:
      if (known_b && is_power_of_two(y))
        return this->op(Op::i32_shr_u, ValType::i32, a, i32(log2_of(y)));
      break;
    case Op::i32_rem_u:
      if (known_b && p.low >= 0 && p.high < y) return a;
      if (known_b && is_power_of_two(y)) return this->op(Op::i32_and, ValType::i32, a, i32(y - 1));
      break;
    case Op::i32_and:
      if (known_b && y == 0) return b;
      if (known_a && x == 0) return a;
      if (known_b && y == 1 && p.low >= 0 && p.high <= 1) return a;
      if (known_a && x == 1 && q.low >= 0 && q.high <= 1) return b;
      break;
    case Op::i32_lt_s:
      if (p.high < q.low) return i32(1);
      if (p.low >= q.high) return i32(0);
      break;
    case Op::i32_ge_s:
      if (p.low >= q.high) return i32(1);
      if (p.high < q.low) return i32(0);
      break;
    case Op::i32_gt_s:
      if (p.low > q.high) return i32(1);
      if (p.high <= q.low) return i32(0);
      break;
    case Op::i32_le_s:
      if (p.high <= q.low) return i32(1);
      if (p.low > q.high) return i32(0);
      break;
    case Op::i32_ne:
      if (known_b && y == 0 && p.low >= 0 && p.high <= 1) return a;
      break;
    case Op::i32_eq:
      if (known_b && y == 0) return this->op(Op::i32_eqz, ValType::i32, a);
      break;
    default:
      break;
  }
  return 0;
}

Interval range_of(Op op, Interval a, Interval b) {
  switch (op) {
    case Op::i32_add:
      return fit(a.low + b.low, a.high + b.high);
    case Op::i32_sub:
      return fit(a.low - b.high, a.high - b.low);
    case Op::i32_mul: {
      const int64_t corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
      return fit(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
    }
    case Op::i32_shl:
      if (b.low != b.high || b.low < 0 || b.low > 31) return {};
      return fit(a.low * (int64_t{1} << b.low), a.high * (int64_t{1} << b.low));
    case Op::i32_shr_s:
      if (b.low != b.high || b.low < 0 || b.low > 31)
        return a.low >= 0 ? Interval{0, a.high} : Interval{};
      return {a.low >> b.low, a.high >> b.low};
    case Op::i32_shr_u:
      if (a.low < 0 || b.low != b.high || b.low < 0 || b.low > 31) return {};
      return {a.low >> b.low, a.high >> b.low};
    case Op::i32_and:
      if (a.low >= 0 && b.low >= 0) return {0, std::min(a.high, b.high)};
      if (b.low >= 0) return {0, b.high};
      if (a.low >= 0) return {0, a.high};
      return {};
    case Op::i32_div_u:
    case Op::i32_div_s:
      return a.low >= 0 && b.low > 0 ? Interval{a.low / b.high, a.high / b.low} : Interval{};
    case Op::i32_rem_u:
    case Op::i32_rem_s:
      return a.low >= 0 && b.low > 0 ? Interval{0, std::min(a.high, b.high - 1)} : Interval{};
    case Op::i32_or:
    case Op::i32_xor:
      return a.low >= 0 && b.low >= 0 && a.high <= 1 && b.high <= 1 ? Interval{0, 1} : Interval{};
    default:
      break;
  }
  if (between(op, Op::i32_eqz, Op::f64_ge)) return {0, 1};
  return {};
}

}  // namespace gossamer::codegen::wasm
