#include "ops/functions.h"

namespace gossamer::ops {

using ir::Expr;

Expr sigmoid(const Expr& x) { return 1.0 / (ir::exp(-x) + 1.0); }

// x / (x + 2) keeps the digits that 1 + x would lose.
Expr log_of_one_plus(const Expr& x) { return ir::atanh(x / (x + 2.0)) * 2.0; }

// exp(x) - 1 = 2 t / (1 - t) with t = tanh(x / 2). Above 1 the difference loses nothing, and 1 - t
// would lose digits.
Expr exp_minus_one(const Expr& x) {
  const Expr t = ir::tanh(ir::min(x, 1.0) * 0.5);
  return ir::select(x > 1.0, ir::exp(x) - 1.0, (t + t) / (1.0 - t));
}

// Selects have one-sided derivatives at 0, unlike max and abs: the gradient there is 1 - 1/2.
Expr softplus(const Expr& x) {
  const Expr small = ir::exp(ir::select(x < 0.0, x, -x));
  return ir::select(x < 0.0, ir::zero(x->type), x) + log_of_one_plus(small);
}

Expr elu(const Expr& x, double alpha) {
  const Expr t = ir::tanh(x * 0.5);
  return ir::select(x > 0.0, x, (t + t) / (1.0 - t) * alpha);
}

Expr leaky_relu(const Expr& x, const Expr& slope) {
  return ir::select(x > ir::zero(x->type), x, x * slope);
}

// The root's slope at 0 is infinite, and would be multiplied by the 0 of the squares' slopes.
Expr norm_of(const Expr& sum_of_squares) {
  return ir::select(sum_of_squares > 0.0, ir::sqrt(sum_of_squares), sum_of_squares);
}

}  // namespace gossamer::ops
