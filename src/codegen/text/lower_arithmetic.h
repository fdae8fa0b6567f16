// Arithmetic whose meaning (nodes.def) differs from what shading languages define, spelled out.
#pragma once

#include "ir/nodes.h"

namespace gossamer::codegen::text {

// Needs legal types. Afterwards
// - div and rem of integers never divide by zero or overflow, rem only sees operands that are not
// negative, shifts are in range;
//   floordiv and floormod remain only where neither a sign nor a divisor is known,
// - exp and log see no NaN,
// - casts from floats to integers are in range,
// - quotients of floats are rounded as IEEE has it where a rounding to integers follows, and, with
// `exact`, wherever sums and products of them are stored,
// - float min and max remain only where neither operand is a constant (with one, a select keeps
// NaN),
// - pow with a small constant exponent is a product.
ir::Kernel lower_arithmetic(const ir::Kernel&, bool exact = false);

}  // namespace gossamer::codegen::text
