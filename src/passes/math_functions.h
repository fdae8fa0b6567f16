// The functions that lower_math replaces, as expressions over f32 or f64 scalars and vectors.
#pragma once

#include <span>

#include "ir/build.h"
#include "passes/math_coefficients.h"

namespace gossamer::passes::math {

bool is_double(const ir::Expr& x);
ir::Expr number(const ir::Expr& like, double value);
ir::Expr polynomial(const ir::Expr& x, const Fit& fit);                  // Horner's scheme
ir::Expr with_sign_of(const ir::Expr& magnitude, const ir::Expr& sign);  // magnitude >= 0
ir::Type bits_type(ir::Type type);                // the signed integers of equal size
ir::Expr top_bits(const ir::Expr& x, int count);  // of an f64's mantissa; the others become 0

ir::Expr exp(const ir::Expr& x,
             int halvings = 0);  // exp(x) / 2^halvings, without overflow on the way
ir::Expr log(const ir::Expr& x);
ir::Expr log1p(const ir::Expr& x);  // x > -1
ir::Expr pow(const ir::Expr& x, const ir::Expr& y);
ir::Expr rem(const ir::Expr& x, const ir::Expr& y);
ir::Expr floormod(const ir::Expr& x, const ir::Expr& y);

ir::Expr sin(const ir::Expr& x);
ir::Expr cos(const ir::Expr& x);
ir::Expr tan(const ir::Expr& x);
ir::Expr asin(const ir::Expr& x);
ir::Expr acos(const ir::Expr& x);
ir::Expr atan(const ir::Expr& x);

ir::Expr sinh(const ir::Expr& x);
ir::Expr cosh(const ir::Expr& x);
ir::Expr tanh(const ir::Expr& x);
ir::Expr asinh(const ir::Expr& x);
ir::Expr acosh(const ir::Expr& x);
ir::Expr atanh(const ir::Expr& x);
ir::Expr erf(const ir::Expr& x);

}  // namespace gossamer::passes::math
