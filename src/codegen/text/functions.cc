#include "codegen/text/functions.h"

#include <initializer_list>
#include <limits>

#include "ir/build.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double half_pi = 1.57079632679489662;

// The definitions, for values of so many lanes.
struct Definitions {
  explicit Definitions(int lanes)
      : f32(DType::f32, lanes), i32(DType::i32, lanes), u32(DType::u32, lanes) {}
  const Type f32, i32, u32;

  Expr c(double value) { return constant(f32, value); }
  Expr nan() { return c(std::numeric_limits<double>::quiet_NaN()); }
  Expr call(UnaryOp op, const Expr& a) { return unary(op, a); }
  Expr call(BinaryOp op, const Expr& a, const Expr& b) { return binary(op, a, b); }

  // The highest power's coefficient first. Coefficients: Chebyshev fits of this project, rounded to
  // f32.
  Expr polynomial(const Expr& x, std::initializer_list<double> coefficients) {
    Expr sum;
    for (double k : coefficients) sum = sum ? fma(sum, x, c(k)) : c(k);
    return sum;
  }

  // What hardware makes of exp(NaN) differs; infinity stays, too.
  Expr exp_of(const Expr& x) {
    return select(x <= double(std::numeric_limits<float>::max()), call(UnaryOp::exp, x), x);
  }

  Expr with_sign_of(const Expr& x, const Expr& size) { return select(x < 0.0, -size, size); }

  // Below 1e-4 the sum 1 + x loses digits of x; the quotient puts them back.
  Expr log1p(const Expr& x) {
    const Expr u = x + 1.0, kept = u - 1.0;
    const Expr exact = kept == 0.0 || u == infinity;
    return select(exact, select(kept == 0.0, x, u),
                  call(UnaryOp::log, u) * (x / select(exact, c(1), kept)));
  }

  Expr word(uint32_t value) { return constant_int(u32, value); }
  Expr joined(const Expr& a, const Expr& b) { return call(BinaryOp::bit_or, a, b); }
  Expr masked(const Expr& a, uint32_t mask) { return call(BinaryOp::bit_and, a, word(mask)); }
  Expr left(const Expr& a, const Expr& count) { return call(BinaryOp::shl, a, count); }
  Expr right(const Expr& a, const Expr& count) { return call(BinaryOp::shr, a, count); }

  // x = quadrant pi/2 + rest, |rest| <= pi/4.
  struct Reduced {
    Expr quadrant, rest;
  };
  // The constant in parts of 8 bits keeps the products exact.
  Reduced reduced_small(const Expr& x) {
    const Expr k = call(UnaryOp::round, x * (1 / half_pi));
    Expr r = x - k * 1.5703125;
    r = r - k * 0.000484466552734375;
    r = r - k * -6.4074993133544921875e-7;
    r = r - k * 9.9209362947050294679e-10;
    return {cast(i32, k), r};
  }
  // For |x| >= 2^16, in integers: x is m 2^e, and of 2/pi only 56 bits matter, those before them
  // give full turns. Products of the first 40 are exact.
  Reduced reduced_large(const Expr& x) {
    const Expr bits = bitcast(u32, x);
    const Expr m = joined(masked(bits, 0x7fffff), word(0x800000));
    // Where the bits begin: 9 zeros, then 2/pi.
    const Expr exponent = masked(right(bits, word(23)), 255);
    const Expr begin = select(exponent > word(143), exponent - word(143), word(0));
    const uint32_t stream[] = {0x00517cc1, 0xb727220a, 0x94fe13ab,
                               0xe8fa9a6e, 0xe06db14a, 0xcc9e21c8};
    const auto chosen = [&](int next) {
      const auto at = [&](int k) { return word(stream[k + next]); };
      return select(begin < word(64), select(begin < word(32), at(0), at(1)),
                    select(begin < word(96), at(2), at(3)));
    };
    const Expr shift = masked(begin, 31), back = word(31) - shift;
    const auto window = [&](int next) {
      return joined(left(chosen(next), shift), right(right(chosen(next + 1), word(1)), back));
    };
    const Expr first = window(0), second = window(1);
    const Expr middle = m * right(second, word(24));
    // Units of 2^-30 quarter turns.
    const Expr sum = m * first + right(middle, word(8));
    const Expr tail = cast(f32, masked(middle, 255)) * 0x1p-8 +
                      cast(f32, m) * (cast(f32, masked(second, 0xffffff)) * 0x1p-32);
    const Expr quarters = right(sum + word(1 << 29), word(30));
    const Expr rest = bitcast(i32, sum - left(quarters, word(30)));
    const Expr r = (cast(f32, rest) + tail) * (half_pi * 0x1p-30);
    const Expr negative = x < 0.0, q = bitcast(i32, quarters);
    return {select(negative, -q, q), select(negative, -r, r)};
  }

  struct Turn {
    Expr quadrant, sine, cosine;
  };
  Turn turn(const Expr& x) {
    const Expr size = size_bits(x), is_large = size >= word(0x47800000);
    const Reduced small = reduced_small(x), large = reduced_large(x);
    const Expr near = select(is_large, large.rest, small.rest);
    const Expr r = select(size < infinity_bits(), near, nan());
    const Expr z = r * r;
    const Expr sine = fma(r * z, polynomial(z, {-0.000195878907, 0.00833274797, -0.166666642}), r);
    const Expr cosine =
        fma(z * z, polynomial(z, {2.45479423e-05, -0.00138883025, 0.0416666642}), 1.0 - z * 0.5);
    return {select(is_large, large.quadrant, small.quadrant), sine, cosine};
  }
  Expr bit(const Expr& a, int64_t mask) {
    return call(BinaryOp::bit_and, a, constant_int(i32, mask)) != 0.0;
  }
  Expr wave(const Expr& x, int quarter) {
    const Turn t = turn(x);
    const Expr q = t.quadrant + double(quarter);
    const Expr size = select(bit(q, 1), t.cosine, t.sine);
    return select(bit(q, 2), -size, size);
  }
  Expr tangent(const Expr& x) {
    const Turn t = turn(x);
    return select(bit(t.quadrant, 1), -t.cosine / t.sine, t.sine / t.cosine);
  }

  Expr arctangent(const Expr& x) {
    const Expr a = call(UnaryOp::abs, x);
    const Expr inverted = a > 1.0;
    const Expr t = select(inverted, 1.0 / a, a), z = t * t;
    const Expr p =
        fma(t * z,
            polynomial(z, {-0.00238699722, 0.0135077713, -0.0358715393, 0.0625016913, -0.0865688026,
                           0.110337645, -0.142785683, 0.199997395, -0.333333313}),
            t);
    return with_sign_of(x, select(inverted, half_pi - p, p));
  }

  struct Arcsine {
    Expr big;  // |x| > 1/2: `value` is asin(sqrt((1 - |x|) / 2))
    Expr value;
  };
  Arcsine arcsine(const Expr& a) {
    const Expr big = a > 0.5;
    const Expr z = select(big, (1.0 - a) * 0.5, a * a);
    const Expr s = select(big, call(UnaryOp::sqrt, select(z > 0.0, z, c(0))), a);
    const Expr value = fma(
        s * z, polynomial(z, {0.0380850248, 0.0265545417, 0.0450013801, 0.0749885514, 0.166666731}),
        s);
    return {big, select(a <= 1.0, value, nan())};
  }
  Expr asin_of(const Expr& x) {
    const Arcsine part = arcsine(call(UnaryOp::abs, x));
    return with_sign_of(x, select(part.big, half_pi - 2.0 * part.value, part.value));
  }
  Expr acos_of(const Expr& x) {
    const Arcsine part = arcsine(call(UnaryOp::abs, x));
    const Expr twice = 2.0 * part.value;
    return select(part.big, select(x < 0.0, 2 * half_pi - twice, twice),
                  half_pi - with_sign_of(x, part.value));
  }

  // exp(|x|) as a product, so that it overflows only where the result does.
  Expr sinh_of(const Expr& x) {
    const Expr a = call(UnaryOp::abs, x), z = x * x;
    const Expr small = fma(x * z, polynomial(z, {0.000202588853, 0.00833176263, 0.166666761}), x);
    const Expr h = exp_of(a * 0.5);
    return select(a < 1.0, small, with_sign_of(x, (h * 0.5) * h - 0.5 / h / h));
  }
  Expr cosh_of(const Expr& x) {
    const Expr h = exp_of(call(UnaryOp::abs, x) * 0.5);
    return (h * 0.5) * h + 0.5 / h / h;
  }
  Expr tanh_of(const Expr& x) {
    const Expr a = call(UnaryOp::abs, x), z = x * x;
    const Expr small = fma(
        x * z,
        polynomial(z, {-0.00609671418, 0.0209971797, -0.0538509078, 0.133327693, -0.333333284}), x);
    const Expr e = exp_of(select(a > 10.0, c(10), a) * 2.0);
    return select(a < 0.625, small, with_sign_of(x, 1.0 - 2.0 / (e + 1.0)));
  }
  Expr asinh_of(const Expr& x) {
    const Expr a = call(UnaryOp::abs, x), big = a > 1e4;
    const Expr b = select(big, c(1), a), z = b * b;
    const Expr small = log1p(b + z / (call(UnaryOp::sqrt, z + 1.0) + 1.0));
    return with_sign_of(x, select(big, call(UnaryOp::log, a) + 0.693147180559945309, small));
  }
  Expr acosh_of(const Expr& x) {
    const Expr big = x > 1e4;
    const Expr t = select(big, c(1), x - 1.0);
    const Expr small = log1p(t + call(UnaryOp::sqrt, select(t > 0.0, t * (t + 2.0), c(0))));
    const Expr value = select(big, call(UnaryOp::log, x) + 0.693147180559945309, small);
    return select(x >= 1.0, value, nan());
  }
  Expr atanh_of(const Expr& x) {
    const Expr a = call(UnaryOp::abs, x);
    const Expr inside = a < 1.0;
    const Expr value = 0.5 * log1p(2.0 * a / select(inside, 1.0 - a, c(1)));
    return with_sign_of(x, select(inside, value, select(a == 1.0, c(infinity), nan())));
  }

  Expr erf_of(const Expr& x) {
    const Expr a = call(UnaryOp::abs, x), z = x * x;
    const Expr small =
        x * polynomial(z, {-9.66704465e-06, 0.000112659589, -0.000848408032, 0.00522103161,
                           -0.0268654302, 0.112837821, -0.376126379, 1.12837923});
    const Expr b = select(a > 4.0, c(4), a);
    const Expr tail = exp_of(
        polynomial(b, {1.6371514e-06, -4.60580413e-05, 0.00059680565, -0.0047595962, 0.0264211353,
                       -0.110080086, -0.631826043, -1.13023341, 0.00032013806}));
    return select(a < 1.0, small, with_sign_of(x, 1.0 - tail));
  }

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
      case UnaryOp::sin:
        return wave(x, 0);
      case UnaryOp::cos:
        return wave(x, 1);
      case UnaryOp::tan:
        return tangent(x);
      case UnaryOp::asin:
        return asin_of(x);
      case UnaryOp::acos:
        return acos_of(x);
      case UnaryOp::atan:
        return arctangent(x);
      case UnaryOp::sinh:
        return sinh_of(x);
      case UnaryOp::cosh:
        return cosh_of(x);
      case UnaryOp::tanh:
        return tanh_of(x);
      case UnaryOp::asinh:
        return asinh_of(x);
      case UnaryOp::acosh:
        return acosh_of(x);
      case UnaryOp::atanh:
        return atanh_of(x);
      case UnaryOp::erf:
        return erf_of(x);
      case UnaryOp::is_nan:
        return is_nan_of(x);
      case UnaryOp::is_inf:
        return is_inf_of(x);
      default:
        return {};
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
