#include <cmath>
#include <limits>

#include "passes/math_functions.h"
#include "passes/reduce_angle.h"

namespace gossamer::passes::math {

using namespace ir;

namespace {

constexpr double pi = 3.14159265358979323846;

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

// |x| > 1/2 (`far`): `angle` is asin(sqrt((1 - |x|) / 2)).
struct Arcsine {
  Expr far, angle;
};
Arcsine arcsine(const Expr& x) {
  const Expr a = unary(UnaryOp::abs, x), one = number(x, 1);
  const Expr far = a > number(x, 0.5);
  const Expr angle = small_asin(select(far, root((one - a) * number(x, 0.5)), a));
  return {far, select(a <= one, angle, number(x, std::numeric_limits<double>::quiet_NaN()))};
}

}  // namespace

Expr sin(const Expr& x, const Primitives& target) {
  const Angle angle = reduce_angle(x, target);
  return select(x == 0.0, x, rotated(angle.quadrant, angle.rest));  // the sign of zero
}

Expr cos(const Expr& x, const Primitives& target) {
  const Angle angle = reduce_angle(x, target);
  return rotated(angle.quadrant + constant_int(angle.quadrant->type, 1), angle.rest);
}

Expr tan(const Expr& x, const Primitives& target) {
  const Angle angle = reduce_angle(x, target);
  const Expr s = sine_of_reduced(angle.rest), c = cosine_of_reduced(angle.rest);
  const Expr odd = bit(angle.quadrant, 1);
  return select(x == 0.0, x, select(odd, -c, s) / select(odd, s, c));
}

Expr asin(const Expr& x) {
  const auto [far, angle] = arcsine(x);
  return with_sign_of(select(far, number(x, pi / 2) - (angle + angle), angle), x);
}

Expr acos(const Expr& x) {
  const auto [far, angle] = arcsine(x);
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
