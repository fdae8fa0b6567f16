#include <limits>

#include "passes/math_functions.h"

namespace gossamer::passes::math {

using namespace ir;

namespace {

constexpr double log_of_two = 0.69314718055994530942;

// x > -1.
Expr log1p(const Expr& x, const Primitives& target) {
  const Expr y = x + number(x, 1);
  // What rounding took from y, divided by it, is what its logarithm lacks.
  const Expr result = math::log(y, target) + (x - (y - number(x, 1))) / y;
  return select(y < number(x, std::numeric_limits<double>::infinity()), result, y);
}

}  // namespace

Expr sinh(const Expr& x, const Primitives& target) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr half = math::exp(a, target, 1);
  const Expr large = half - number(x, 0.25) / half;
  const Expr z = x * x;
  const Expr small = fma(polynomial(z, sinh_fit) * z, a, a);
  return with_sign_of(select(a < number(x, 1), small, large), x);
}

Expr cosh(const Expr& x, const Primitives& target) {
  const Expr half = math::exp(unary(UnaryOp::abs, x), target, 1);
  return half + number(x, 0.25) / half;
}

Expr tanh(const Expr& x, const Primitives& target) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr one = number(x, 1), two = number(x, 2);
  const Expr large = one - two / (math::exp(a + a, target) + one);
  const Expr z = x * x;
  const Expr small = fma(polynomial(z, tanh_fit) * z, a, a);
  return with_sign_of(select(a < number(x, 0.625), small, large), x);
}

Expr asinh(const Expr& x, const Primitives& target) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr one = number(x, 1), square = a * a;
  const Expr near = log1p(a + square / (one + root(square + one)), target);
  const Expr far = math::log(a, target) + number(x, log_of_two);
  return with_sign_of(select(a < number(x, is_double(x) ? 1e10 : 1e6), near, far), x);
}

Expr acosh(const Expr& x, const Primitives& target) {
  const Expr one = number(x, 1);
  const Expr t = x - one;
  const Expr near = log1p(t + root(t * (t + number(x, 2))), target);
  const Expr far = math::log(x, target) + number(x, log_of_two);
  const Expr value = select(x > number(x, is_double(x) ? 1e10 : 1e6), far, near);
  return select(x >= one, value, number(x, std::numeric_limits<double>::quiet_NaN()));
}

Expr atanh(const Expr& x, const Primitives& target) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr ratio = (a + a) / (number(x, 1) - a);
  return with_sign_of(log1p(ratio, target) * number(x, 0.5), x);
}

// 1 - exp(-q(x)) away from zero: q is smooth and grows like x^2.
Expr erf(const Expr& x, const Primitives& target) {
  const Expr a = unary(UnaryOp::abs, x);
  const Expr one = number(x, 1);
  const double end = is_double(x) ? 6 : 4;
  const Expr mapped = fma(select(a > number(x, end), number(x, end), a), number(x, 2 / (end - 1)),
                          number(x, -(end + 1) / (end - 1)));
  const Expr far = one - math::exp(-polynomial(mapped, erf_far_fit), target);
  const Expr near = fma(polynomial(a * a, erf_near_fit), a, a);
  return with_sign_of(select(a < one, near, far), x);
}

}  // namespace gossamer::passes::math
