#include <cmath>

#include "passes/math_functions.h"

namespace gossamer::passes::math {

using namespace ir;

namespace {

constexpr double pi = 3.14159265358979323846;

// x = q pi/2 + r with |r| <= pi/4.
struct Reduced {
  Expr quadrant;  // integers
  Expr r;
};

// 2/pi in parts of 29 bits: an f32 times one is exact in f64, and so is what is left of the product
// after full turns. The six parts reach 2^-46 of the largest f32.
constexpr double two_over_pi[] = {0x1.45f306dp-1,  0x1.9391054p-30,  0x1.4fe13abp-59,
                                  0x1.d1f534dp-88, 0x1.b81b6c5p-117, 0x1.5993c4p-148};

Reduced reduce_single(const Expr& x) {
  const Expr wide = cast(x->type.with_dtype(DType::f64), x);
  const auto whole = [](const Expr& e) { return unary(UnaryOp::round, e); };
  const auto within_turn = [&](double part) {
    const Expr product = wide * number(wide, part);
    return product - whole(product * number(wide, 0.25)) * number(wide, 4);
  };
  Expr rest = within_turn(two_over_pi[5]);
  for (int part = 4; part > 0; --part) rest = rest + within_turn(two_over_pi[part]);
  const Expr first = within_turn(two_over_pi[0]), quarters = whole(first);
  // The difference is exact, so that near a multiple of pi/2 the sum keeps the digits of `rest`.
  const Expr sum = (first - quarters) + rest, more = whole(sum);
  return {cast(bits_type(x->type), quarters + more),
          cast(x->type, (sum - more) * number(wide, pi / 2))};
}

// Exact to the last digits while |x| < 2^40; beyond, results only stay within their range.
Reduced reduce_double(const Expr& x) {
  const Expr n = unary(UnaryOp::round, x * number(x, 2 / pi));
  // pi/2 in three parts of 33 bits: 20 bits of n times a part are exact.
  const Expr high = unary(UnaryOp::round, n * number(x, 0x1p-20)) * number(x, 0x1p20);
  const Expr low = n - high;
  Expr r = x;
  for (double part : {0x1.921fb544p+0, 0x1.0b4611a6p-34})
    r = r - high * number(x, part) - low * number(x, part);
  r = r - n * number(x, 0x1.3198a2e037073p-69);
  const double most = pi / 4 * 1.001;
  return {cast(bits_type(x->type), n), max(min(r, number(x, most)), number(x, -most))};
}

Reduced reduce(const Expr& x) { return is_double(x) ? reduce_double(x) : reduce_single(x); }

Expr sine_of_reduced(const Expr& r) {
  const Expr z = r * r;
  return fma(polynomial(z, sin_fit) * z, r, r);
}

Expr cosine_of_reduced(const Expr& r) {
  const Expr z = r * r;
  return fma(polynomial(z, cos_fit), z * z, fma(z, number(r, -0.5), number(r, 1)));
}

Expr bit(const Expr& integer, int64_t mask) {
  return binary(BinaryOp::bit_and, integer, constant_int(integer->type, mask)) !=
         constant_int(integer->type, 0);
}

Expr rotated(const Expr& quadrant, const Expr& r) {
  const Expr value = select(bit(quadrant, 1), cosine_of_reduced(r), sine_of_reduced(r));
  return select(bit(quadrant, 2), -value, value);
}

// asin of 0 <= x <= 1/2.
Expr small_asin(const Expr& x) {
  const Expr z = x * x;
  return fma(polynomial(z, asin_fit) * z, x, x);
}

}  // namespace

Expr sin(const Expr& x) {
  const Reduced reduced = reduce(x);
  // Tiny arguments and zeros are their own sine, sign included.
  return select(unary(UnaryOp::abs, x) < number(x, 1e-5), fma(x * x * x, number(x, -1.0 / 6), x),
                rotated(reduced.quadrant, reduced.r));
}

Expr cos(const Expr& x) {
  const Reduced reduced = reduce(x);
  return rotated(reduced.quadrant + constant_int(reduced.quadrant->type, 1), reduced.r);
}

Expr tan(const Expr& x) {
  const Reduced reduced = reduce(x);
  const Expr s = sine_of_reduced(reduced.r), c = cosine_of_reduced(reduced.r);
  const Expr odd = bit(reduced.quadrant, 1);
  return select(odd, -c, s) / select(odd, s, c);
}

Expr asin(const Expr& x) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr far = a > number(x, 0.5);
  const Expr root = unary(UnaryOp::sqrt, (number(x, 1) - a) * number(x, 0.5));
  const Expr angle = small_asin(select(far, root, a));
  return with_sign_of(select(far, number(x, pi / 2) - (angle + angle), angle), x);
}

Expr acos(const Expr& x) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr far = a > number(x, 0.5);
  const Expr root = unary(UnaryOp::sqrt, (number(x, 1) - a) * number(x, 0.5));
  const Expr angle = small_asin(select(far, root, a));
  const Expr twice = angle + angle;
  const Expr negative = x < number(x, 0);
  const double low = is_double(x) ? 6.123233995736766e-17
                                  : pi / 2 - static_cast<double>(static_cast<float>(pi / 2));
  const Expr from_right = number(x, pi / 2) - (select(negative, -angle, angle) - number(x, low));
  return select(far, select(negative, number(x, pi) - twice, twice), from_right);
}

// Folds to |x| <= tan(pi/8) by the tangents of pi/4 and pi/2.
Expr atan(const Expr& x) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr one = number(x, 1), zero = number(x, 0);
  const Expr far = a > number(x, 2.414213562373095), middle = a > number(x, 0.4142135623730950);
  const Expr over = select(far, -one, select(middle, a - one, a));
  const Expr under = select(far, a, select(middle, a + one, one));
  const Expr t = over / under;
  const Expr offset = select(far, number(x, pi / 2), select(middle, number(x, pi / 4), zero));
  const Expr z = t * t;
  const Expr angle = offset + fma(polynomial(z, atan_fit) * z, t, t);
  return with_sign_of(angle, x);
}

}  // namespace gossamer::passes::math
