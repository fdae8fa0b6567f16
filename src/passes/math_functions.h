// Functions as arithmetic over f32 or f64 scalars and vectors, for targets that lack them.
#pragma once

#include <span>

#include "ir/build.h"
#include "passes/math_coefficients.h"

namespace gossamer::passes::math {

bool is_double(const ir::Expr& x);
ir::Expr number(const ir::Expr& like, double value);
ir::Expr polynomial(const ir::Expr& x, const Fit& fit);                  // Horner's scheme
ir::Expr with_sign_of(const ir::Expr& magnitude, const ir::Expr& sign);  // magnitude >= 0
// Of what is negative: 0, since hardware may give anything.
ir::Expr root(const ir::Expr& x);
ir::Type bits_type(ir::Type type);                // the signed integers of equal size
ir::Expr top_bits(const ir::Expr& x, int count);  // of an f64's mantissa; the others become 0

// What a target brings along.
struct Primitives {
  bool exp_and_log = false;
  bool doubles = true;
  bool ldexp = false;
};

// The function in arithmetic and what the target brings; null for operations that are none.
ir::Expr definition(ir::UnaryOp op, const ir::Expr& x, const Primitives& target = {});

// exp(x) / 2^halvings, without overflow on the way. Of a target: NaN and infinities are as they
// must be, whatever the hardware makes of them.
ir::Expr exp(const ir::Expr& x, const Primitives& target = {}, int halvings = 0);
ir::Expr log(const ir::Expr& x, const Primitives& target = {});
ir::Expr pow(const ir::Expr& x, const ir::Expr& y);
ir::Expr rem(const ir::Expr& x, const ir::Expr& y);
ir::Expr floormod(const ir::Expr& x, const ir::Expr& y);

ir::Expr sin(const ir::Expr& x, const Primitives& target);
ir::Expr cos(const ir::Expr& x, const Primitives& target);
ir::Expr tan(const ir::Expr& x, const Primitives& target);
ir::Expr asin(const ir::Expr& x);
ir::Expr acos(const ir::Expr& x);
ir::Expr atan(const ir::Expr& x);

ir::Expr sinh(const ir::Expr& x, const Primitives& target);
ir::Expr cosh(const ir::Expr& x, const Primitives& target);
ir::Expr tanh(const ir::Expr& x, const Primitives& target);
ir::Expr asinh(const ir::Expr& x, const Primitives& target);
ir::Expr acosh(const ir::Expr& x, const Primitives& target);
ir::Expr atanh(const ir::Expr& x, const Primitives& target);
ir::Expr erf(const ir::Expr& x, const Primitives& target);

}  // namespace gossamer::passes::math
