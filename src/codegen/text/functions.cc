#include "codegen/text/functions.h"

#include <limits>

#include "ir/build.h"
#include "passes/math_functions.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

constexpr double infinity = std::numeric_limits<double>::infinity();

// The definitions, for values of so many lanes.
struct Definitions {
  explicit Definitions(int lanes)
      : f32(DType::f32, lanes), i32(DType::i32, lanes), u32(DType::u32, lanes) {}
  const Type f32, i32, u32;

  Expr c(double value) { return constant(f32, value); }
  Expr nan() { return c(std::numeric_limits<double>::quiet_NaN()); }
  Expr call(UnaryOp op, const Expr& a) { return unary(op, a); }
  Expr call(BinaryOp op, const Expr& a, const Expr& b) { return binary(op, a, b); }

  Expr with_sign_of(const Expr& x, const Expr& size) { return select(x < 0.0, -size, size); }

  Expr word(uint32_t value) { return constant_int(u32, value); }
  Expr joined(const Expr& a, const Expr& b) { return call(BinaryOp::bit_or, a, b); }
  Expr masked(const Expr& a, uint32_t mask) { return call(BinaryOp::bit_and, a, word(mask)); }
  Expr left(const Expr& a, const Expr& count) { return call(BinaryOp::shl, a, count); }
  Expr right(const Expr& a, const Expr& count) { return call(BinaryOp::shr, a, count); }

  Expr size_bits(const Expr& x) {
    return call(BinaryOp::bit_and, bitcast(u32, x), constant_int(u32, 0x7fffffff));
  }
  Expr infinity_bits() { return constant_int(u32, 0x7f800000); }
  // By bits: shader compilers may assume that there is no NaN.
  Expr is_nan_of(const Expr& x) { return size_bits(x) > infinity_bits(); }
  Expr is_inf_of(const Expr& x) { return size_bits(x) == infinity_bits(); }

  // A NaN in `a` fails the comparison and stays.
  Expr smaller(const Expr& a, const Expr& b) {
    return select(call(UnaryOp::is_nan, b), b, select(b < a, b, a));
  }
  Expr larger(const Expr& a, const Expr& b) {
    return select(call(UnaryOp::is_nan, b), b, select(a < b, b, a));
  }

  // Long division of the mantissas, 8 bits at a time: exact for all quotients, whatever the
  // hardware's division is.
  Expr fmod_of(const Expr& a, const Expr& b) {
    const Expr size = size_bits(a), divisor = size_bits(b);
    const auto exponent = [&](const Expr& bits) {  // that of denormals is 1, too
      const Expr stored = bitcast(i32, right(bits, word(23)));
      return select(stored > 0.0, stored, constant_int(i32, 1));
    };
    const auto mantissa = [&](const Expr& bits) {
      const Expr stored = masked(bits, 0x7fffff);
      return select(bits >= word(0x800000), joined(stored, word(0x800000)), stored);
    };
    const Expr scale = exponent(divisor), digits = exponent(size) - scale;
    const Expr m = mantissa(divisor), by = select(m == 0.0, word(1), m);
    Expr rest = call(BinaryOp::rem, mantissa(size), by);
    for (int done = 0; done < 254; done += 8) {
      const Expr more = digits - static_cast<double>(done);
      const Expr count =
          select(more > 8.0, constant_int(i32, 8), select(more > 0.0, more, zero(i32)));
      rest = call(BinaryOp::rem, left(rest, bitcast(u32, count)), by);
    }
    const Expr power = scale - 150.0, half = call(BinaryOp::shr, power, constant_int(i32, 1));
    const Expr value = cast(f32, rest) * power_of_two(half) * power_of_two(power - half);
    const Expr undefined = size >= infinity_bits() || divisor > infinity_bits() || divisor == 0.0;
    return select(undefined, nan(), select(size < divisor, a, with_sign_of(a, value)));
  }
  Expr floormod_of(const Expr& a, const Expr& b) {
    const Expr r = call(BinaryOp::rem, a, b);
    return select(r != 0.0 && (r < 0.0) != (b < 0.0), r + b, r);
  }

  // By 0 everything is 0; by -1 the quotient may overflow, so it is a product.
  struct Quotient {
    Expr odd;                  // the divisor is 0 or -1
    Expr value, rest, adjust;  // truncated; adjust: the floor is one less
  };
  Quotient divide(const Expr& a, const Expr& b) {
    const Expr odd = cast(u32, b + 1.0) <= constant_int(u32, 1);
    const Expr safe = select(odd, constant_int(b->type, 1), b);
    const Expr value = a / safe, rest = a - value * safe;
    return {odd, value, rest, rest != 0.0 && (rest < 0.0) != (b < 0.0)};
  }
  Expr floor_quotient(const Expr& a, const Expr& b) {
    const Quotient q = divide(a, b);
    return select(q.odd, a * b, select(q.adjust, q.value - 1.0, q.value));
  }
  Expr floor_rest(const Expr& a, const Expr& b) {
    const Quotient q = divide(a, b);
    return select(q.odd, zero(b->type), select(q.adjust, q.rest + b, q.rest));
  }

  Expr power_of_two(const Expr& exponent) {
    return bitcast(f32, call(BinaryOp::shl, exponent + 127.0, constant_int(i32, 23)));
  }
  // |a|^b: the exponent of a apart from its mantissa, so that the product with b keeps its digits.
  Expr power_of_size(const Expr& size, const Expr& b, const Expr& product) {
    const Expr bits = bitcast(i32, size);
    const Expr e = call(BinaryOp::shr, bits - constant_int(i32, 0x3f3504f3), constant_int(i32, 23));
    const Expr mantissa = bitcast(f32, bits - call(BinaryOp::shl, e, constant_int(i32, 23)));
    const Expr whole = b * cast(f32, e), n = call(UnaryOp::round, whole);
    const Expr rest = (whole - n) * 0.693147180559945309 + b * call(UnaryOp::log, mantissa);
    const Expr k = call(UnaryOp::round, rest * 1.44269504088896341);
    const Expr tail = rest - k * 0.693115234375 - k * 3.19461849453e-5;
    const Expr sum = n + k;
    const Expr exponent =
        cast(i32, select(sum > 254.0, c(254), select(sum > -250.0, sum, c(-250))));
    const Expr half = call(BinaryOp::shr, exponent, constant_int(i32, 1));
    const Expr value =
        call(UnaryOp::exp, tail) * power_of_two(half) * power_of_two(exponent - half);
    return select(product > 90.0, c(infinity), select(product < -105.0, c(0), value));
  }
  Expr pow_of(const Expr& a, const Expr& b) {
    const Expr size = call(UnaryOp::abs, a);
    const Expr product = b * call(UnaryOp::log, size);
    const Expr vanishes = size == 0.0, explodes = size == infinity;
    const Expr limit = select((b > 0.0) == explodes, c(infinity), c(0));
    const Expr value = select(vanishes || explodes, limit, power_of_size(size, b, product));
    const Expr is_whole = call(UnaryOp::floor, b) == b;
    const Expr half = b * 0.5;
    const Expr is_odd = is_whole && call(UnaryOp::floor, half) != half;
    const Expr negative = bitcast(i32, a) < 0.0;
    const Expr undefined = negative && !is_whole && !vanishes && !explodes;
    const Expr no_number = call(UnaryOp::is_nan, a) || call(UnaryOp::is_nan, b);
    const Expr one = b == 0.0 || a == 1.0 || (a == -1.0 && call(UnaryOp::abs, b) == infinity);
    const Expr real = select(undefined, nan(), select(negative && is_odd, -value, value));
    return select(one, c(1), select(no_number, a + b, real));
  }

  Expr body_of(UnaryOp op, const Expr& x) {
    switch (op) {
      case UnaryOp::is_nan:
        return is_nan_of(x);
      case UnaryOp::is_inf:
        return is_inf_of(x);
      default:
        return passes::math::definition(op, x, {.exp_and_log = true, .doubles = false});
    }
  }

  Expr body_of(BinaryOp op, const Expr& a, const Expr& b) {
    if (is_float(a->type.dtype)) {
      switch (op) {
        case BinaryOp::min:
          return smaller(a, b);
        case BinaryOp::max:
          return larger(a, b);
        case BinaryOp::rem:
          return fmod_of(a, b);
        case BinaryOp::floormod:
          return floormod_of(a, b);
        case BinaryOp::pow:
          return pow_of(a, b);
        default:
          return {};
      }
    }
    if (op == BinaryOp::floordiv) return floor_quotient(a, b);
    if (op == BinaryOp::floormod) return floor_rest(a, b);
    return {};
  }
};

Function function_of(std::string_view name, std::vector<Var> params, Expr body) {
  const Type type = params[0]->type;
  const std::string_view kind = is_float(type.dtype) ? "f" : "i";
  return {cat(name, "_", kind, type.is_scalar() ? "" : std::to_string(type.lanes)),
          std::move(params), std::move(body)};
}

}  // namespace

std::optional<Function> define_function(UnaryOp op, Type type) {
  const Var x = var("x", type);
  if (!is_float(type.dtype)) return std::nullopt;
  const Expr body = Definitions(type.lanes).body_of(op, x);
  if (!body.get()) return std::nullopt;
  return function_of(name_of(op), {x}, body);
}

std::optional<Function> define_function(BinaryOp op, Type type) {
  const Var a = var("a", type), b = var("b", type);
  const Expr body = Definitions(type.lanes).body_of(op, a, b);
  if (!body.get()) return std::nullopt;
  return function_of(name_of(op), {a, b}, body);
}

}  // namespace gossamer::codegen::text
