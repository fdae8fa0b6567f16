#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// Replaces casts of rounded numbers in f32 to integers of 8 and 16 bits: a number of at most 2^22
// plus 1.5 * 2^23 is rounded to a whole one, to even, whose bits end the sum's. Saturation stays,
// and NaN becomes 0. Casts of other numbers are truncations, and stay as they are.
ir::Stmt round_to_integers(const ir::Stmt& body);
ir::Expr round_to_integers(const ir::Expr& expr);

}  // namespace gossamer::passes
