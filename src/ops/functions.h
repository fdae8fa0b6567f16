// Scalar functions that several operators share. None overflows on the way to a finite result, and
// the gradients that are derived from them are PyTorch's, kinks included (semantics.md).
#pragma once

#include "ir/build.h"

namespace gossamer::ops {

ir::Expr sigmoid(const ir::Expr& x);

// log(1 + x) for x in [0, 1], accurate to the last digits near 0.
ir::Expr log_of_one_plus(const ir::Expr& x);

// exp(x) - 1, accurate to the last digits near 0.
ir::Expr exp_minus_one(const ir::Expr& x);

// log(1 + exp(x)).
ir::Expr softplus(const ir::Expr& x);

// alpha * (exp(x) - 1) up to 0, x above.
ir::Expr elu(const ir::Expr& x, double alpha);

// slope * x up to 0, x above.
ir::Expr leaky_relu(const ir::Expr& x, const ir::Expr& slope);

// The root of a sum of squares. Its gradient is 0 where the sum is 0.
ir::Expr norm_of(const ir::Expr& sum_of_squares);

}  // namespace gossamer::ops
