#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// Expands the small types (ir/type.h) into arithmetic that every target has: their buffers hold
// codes, u8 or i8; a value that is only moved stays a code; a conversion becomes shifts and selects
// on f32 and i32 bits, arithmetic is done in f32 or i32. No generator knows the types. Comes before
// every other pass.
ir::Kernel lower_small_types(const ir::Kernel& kernel);

// The conversions by themselves, on scalars and vectors. Codes are of carrier_of(dtype), values f32
// for small floats and i32 for small integers. From f64, `narrowed_to_odd` keeps what the second
// rounding must know.
ir::Expr decode_small(ir::DType dtype, const ir::Expr& code);
ir::Expr encode_small(ir::DType dtype, const ir::Expr& value);
// A code whose bits beyond the type's do not count: without them, a negative number extended.
ir::Expr trim_small(ir::DType dtype, const ir::Expr& code);
ir::Expr narrowed_to_odd(const ir::Expr& value_f64);

}  // namespace gossamer::passes
