#include "codegen/text/lower_arithmetic.h"

#include <bit>
#include <cmath>
#include <limits>

#include "codegen/text/bounded_rewrite.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

// The value of a constant, scalar or in every lane.
std::optional<int64_t> int_constant(const Expr& e) {
  if (auto* splat = as<Broadcast>(e)) return as_int(splat->a);
  return as_int(e);
}
std::optional<double> float_constant(const Expr& e) {
  if (auto* splat = as<Broadcast>(e)) return as_float(splat->a);
  return as_float(e);
}

bool is_power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }
int log2_of(int64_t value) { return std::countr_zero(static_cast<uint64_t>(value)); }

// Signs are known of `index` values only: others wrap.
bool not_negative(const Expr& e, Knowledge& known) {
  if (is_unsigned_int(e->type.dtype)) return true;
  if (auto value = int_constant(e)) return *value >= 0;
  return e->type.dtype == DType::index && known.range_of(e).low >= 0;
}
bool positive(const Expr& e, Knowledge& known) {
  if (auto value = int_constant(e)) return *value > 0;
  return e->type.dtype == DType::index && known.range_of(e).low > 0;
}

Expr op(BinaryOp name, Expr a, Expr b) { return binary(name, std::move(a), std::move(b)); }

// Divisors that hardware may treat differently: 0 (the result is 0), and -1, by which the smallest
// integer overflows.
struct Divisor {
  Expr odd;   // whether it is one of them
  Expr safe;  // the divisor, or 1
};
Divisor checked(const Expr& b) {
  const Expr one = constant_int(b->type, 1);
  const bool has_sign = !is_unsigned_int(b->type.dtype);
  const Type bits = b->type.with_dtype(DType::u32);
  const Expr odd = has_sign ? cast(bits, b + one) <= constant_int(bits, 1) : b == zero(b->type);
  return {odd, select(odd, one, b)};
}
Expr divide(const Expr& a, const Expr& b, Knowledge& known) {
  if (positive(b, known)) return op(BinaryOp::div, a, b);
  const Divisor by = checked(b);
  return select(by.odd, a * b, op(BinaryOp::div, a, by.safe));
}
Expr remainder(const Expr& a, const Expr& b, Knowledge& known) {
  const bool up = not_negative(a, known);
  auto rest = [&](const Expr& by) {
    return up ? op(BinaryOp::rem, a, by) : a - by * op(BinaryOp::div, a, by);
  };
  if (positive(b, known)) return rest(b);
  // A negative operand is for the quotient only.
  const Divisor by = checked(b);
  const bool has_sign = !is_unsigned_int(b->type.dtype);
  return select(by.odd, zero(b->type),
                has_sign ? a - by.safe * op(BinaryOp::div, a, by.safe) : rest(by.safe));
}

Expr lower_division(const Binary& node, Knowledge& known) {
  const Expr &a = node.a, &b = node.b;
  const Type type = node.type;
  const auto divisor = int_constant(b);
  const bool power = divisor && is_power_of_two(*divisor);
  const bool up = not_negative(a, known);
  const bool floors = node.op == BinaryOp::floordiv || node.op == BinaryOp::floormod;
  const bool quotient = node.op == BinaryOp::div || node.op == BinaryOp::floordiv;
  if (power && (up || floors)) {
    return quotient ? op(BinaryOp::shr, a, constant_int(type, log2_of(*divisor)))
                    : op(BinaryOp::bit_and, a, constant_int(type, *divisor - 1));
  }
  if (!floors || (up && (is_unsigned_int(type.dtype) || positive(b, known)))) {
    return quotient ? divide(a, b, known) : remainder(a, b, known);
  }
  if (!divisor || *divisor <= 0) return {};
  const Expr sign = op(BinaryOp::shr, a, constant_int(type, 31));
  if (quotient) {
    return op(BinaryOp::bit_xor, sign, op(BinaryOp::div, op(BinaryOp::bit_xor, a, sign), b));
  }
  const Expr rest = a - b * op(BinaryOp::div, a, b);
  return rest + op(BinaryOp::bit_and, op(BinaryOp::shr, rest, constant_int(type, 31)), b);
}

Expr lower_shift(const Binary& node) {
  const Type type = node.type;
  const bool keeps_sign = node.op == BinaryOp::shr && !is_unsigned_int(type.dtype);
  if (auto count = int_constant(node.b)) {
    if (*count >= 0 && *count < 32) return {};
    return keeps_sign ? op(node.op, node.a, constant_int(type, 31)) : zero(type);
  }
  const Expr last = constant_int(type, 31);
  const Expr in_range =
      cast(type.with_dtype(DType::u32), node.b) <= constant_int(type.with_dtype(DType::u32), 31);
  const Expr shifted = op(node.op, node.a, op(BinaryOp::bit_and, node.b, last));
  return select(in_range, shifted, keeps_sign ? op(node.op, node.a, last) : zero(type));
}

Expr lower_min_max(const Binary& node) {
  const bool left = float_constant(node.a).has_value();
  const Expr &x = left ? node.b : node.a, &limit = left ? node.a : node.b;
  const auto value = float_constant(limit);
  if (!value) return {};
  if (std::isnan(*value)) return limit;
  return select(node.op == BinaryOp::min ? x > limit : x < limit, limit, x);
}

Expr lower_pow(const Binary& node) {
  const auto exponent = float_constant(node.b);
  const Expr& x = node.a;
  if (!exponent) return {};
  if (*exponent == 1) return x;
  if (*exponent == 2) return x * x;
  if (*exponent == 3) return x * x * x;
  if (*exponent == 4) return (x * x) * (x * x);
  if (*exponent == -1) return constant(x->type, 1) / x;
  return {};
}

// a / b rounded as IEEE has it. Hardware may be some units off, and multiplies by the reciprocal of
// a constant. The remainder is exact: products of halves of 12 bits have 24.
Expr exact_quotient(const Expr& a, const Expr& b) {
  const Type bits = a->type.with_dtype(DType::u32);
  const auto high = [&](const Expr& x) {
    return bitcast(x->type,
                   op(BinaryOp::bit_and, bitcast(bits, x), constant_int(bits, 0xfffff000)));
  };
  const Expr near = op(BinaryOp::div, a, b);
  const Expr near_high = high(near), near_low = near - near_high;
  const Expr b_high = high(b), b_low = b - b_high;
  const Expr rest =
      a - near_high * b_high - near_high * b_low - near_low * b_high - near_low * b_low;
  // Not after an overflow, a division by 0, or of NaN.
  const Expr size = op(BinaryOp::bit_and, bitcast(bits, rest), constant_int(bits, 0x7fffffff));
  return select(size < constant_int(bits, 0x7f800000), near + op(BinaryOp::div, rest, b), near);
}

// With exact quotients wherever the value is made of sums, products and choices of them.
Expr with_exact_quotients(const Expr& e) {
  Rewriter rewriter;
  rewriter.expr_before = [](const Expr& node) -> Expr {
    if (auto* inner = as<Unary>(node)) {
      const bool follows = inner->op == UnaryOp::neg || inner->op == UnaryOp::abs;
      return follows ? Expr() : node;
    }
    if (auto* inner = as<Cast>(node)) {
      return is_float(inner->a->type.dtype) && is_float(node->type.dtype) ? Expr() : node;
    }
    return as<Load>(node) ? node : Expr();
  };
  rewriter.expr = [](const Expr& node) -> Expr {
    auto* quotient = as<Binary>(node);
    if (!quotient || quotient->op != BinaryOp::div || !is_float(node->type.dtype)) return {};
    return exact_quotient(quotient->a, quotient->b);
  };
  return rewrite(e, rewriter);
}

// What is rounded to integers turns an error of one unit into one of 1.
Expr lower_rounding(const Unary& node) {
  Expr exact = with_exact_quotients(node.a);
  return exact.same(node.a) ? Expr() : unary(node.op, std::move(exact));
}

Expr lower_cast(const Cast& node) {
  const Type from = node.a->type, to = node.type;
  if (!is_float(from.dtype) || !is_int(to.dtype)) return {};
  const Expr x = with_exact_quotients(node.a);
  auto limit = [&](double value) { return constant(from, value); };
  auto convert = [&](Expr value) {
    auto* made = new Cast(to);
    made->a = std::move(value);
    return Expr(made);
  };
  // The largest float below 2^31 or 2^32.
  if (is_unsigned_int(to.dtype)) {
    const Expr clamped = select(x > limit(4294967040.0), limit(4294967040.0), x);
    return select(x >= limit(4294967296.0), constant_int(to, 0xffffffff),
                  convert(select(x > limit(0), clamped, limit(0))));
  }
  const Expr clamped = select(x > limit(2147483520.0), limit(2147483520.0), x);
  const Expr lower = select(x < limit(-2147483648.0), limit(-2147483648.0), clamped);
  return select(x >= limit(2147483648.0), constant_int(to, std::numeric_limits<int32_t>::max()),
                convert(select(unary(UnaryOp::is_nan, x), limit(0), lower)));
}

// exp and log of NaN, and log of 0, are whatever the hardware makes of it. The comparison is false
// for NaN and infinity: both stay.
Expr lower_unary(const Unary& node) {
  if (node.op != UnaryOp::exp && node.op != UnaryOp::log) return {};
  const Expr largest = constant(node.type, std::numeric_limits<float>::max());
  Expr value = unary(node.op, node.a);
  if (node.op == UnaryOp::log) {
    const Expr nan = constant(node.type, std::numeric_limits<double>::quiet_NaN());
    const Expr infinity = constant(node.type, -std::numeric_limits<double>::infinity());
    const Expr none = zero(node.type);
    value = select(node.a > none, value, select(node.a < none, nan, infinity));
  }
  return select(node.a <= largest, value, node.a);
}

Expr lower_node(const Expr& e, Knowledge& known) {
  if (auto* node = as<Unary>(e)) {
    const bool rounds = node->op == UnaryOp::round || node->op == UnaryOp::floor ||
                        node->op == UnaryOp::ceil || node->op == UnaryOp::trunc;
    return rounds ? lower_rounding(*node) : lower_unary(*node);
  }
  if (auto* node = as<Cast>(e)) return lower_cast(*node);
  auto* node = as<Binary>(e);
  if (!node) return {};
  const bool floating = is_float(node->a->type.dtype);
  switch (node->op) {
    case BinaryOp::div:
    case BinaryOp::rem:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      return floating ? Expr() : lower_division(*node, known);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return lower_shift(*node);
    case BinaryOp::min:
    case BinaryOp::max:
      return floating ? lower_min_max(*node) : Expr();
    case BinaryOp::pow:
      return lower_pow(*node);
    default:
      return {};
  }
}

}  // namespace

Kernel lower_arithmetic(const Kernel& kernel, bool exact) {
  Kernel result = kernel;
  auto lower = [exact](const Expr& root, Knowledge& known) {
    Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) { return lower_node(e, known); };
    const Expr lowered = rewrite(root, rewriter);
    return exact ? with_exact_quotients(lowered) : lowered;
  };
  result.body =
      rewrite_bounded(kernel.body, bounds_of_scalars(kernel), {.expr = lower, .store = {}});
  return result;
}

}  // namespace gossamer::codegen::text
