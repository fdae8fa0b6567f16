#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// Replaces exp, log, sin ... erf, pow and the remainders of floats by branch-free arithmetic that
// every CPU has, on scalars and vectors alike. Establishes math_lowered. Zeros, infinities and NaN
// come out as libm's do.
//
// Greatest errors found by lower_math_test against libm in long double, with and without fused
// multiply-add, in units of the last place, f32 / f64:
//   exp 0.9/0.9, log 0.7/0.8, tanh 1.0/1.2, erf 1.8/5.4, sin and cos 1.3/1.8, tan 2.5/2.7,
//   asin 2.1/2.0, acos 1.2/1.1, atan 2.4/1.8, sinh 1.4/1.3, cosh 1.2/1.2, asinh 1.8/1.5,
//   acosh 2.2/2.0, atanh 1.9/1.8, pow 0.5 / 2e-13 relative; rem and floormod are exact while
//   |a / b| < 2^50.
// Beyond 1e12, sin and cos of f32 are within 3e-7.
//
// `ldexp`: the target has that operation, else powers of two are made of their bits.
ir::Stmt lower_math(const ir::Stmt& body, bool ldexp = false);
ir::Expr lower_math(const ir::Expr& expr, bool ldexp = false);

}  // namespace gossamer::passes
