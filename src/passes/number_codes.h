// Bits of 16-bit floats and codes of small types (ir/type.h) to numbers and back, as arithmetic on
// f32 and words, for scalars and vectors. Bits and codes are taken in any integer type and given
// in i32. Rounding is to nearest even.
#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// `flushes`: the machine may take denormals of f32 for 0, so that none may appear on the way.
ir::Expr half_to_single(const ir::Expr& bits, bool flushes = false);
ir::Expr single_to_half(const ir::Expr& value);
// half_to_single(single_to_half(value)) in fewer operations.
ir::Expr rounded_to_half(const ir::Expr& value);
ir::Expr bfloat_to_single(const ir::Expr& bits);
ir::Expr single_to_bfloat(const ir::Expr& value);

// Values are f32 for small floats and i32 for small integers. No f32 denormal appears.
ir::Expr decode_small(ir::DType dtype, const ir::Expr& code);
ir::Expr encode_small(ir::DType dtype, const ir::Expr& value);
// A code of which only the type's own bits count; a negative integer is extended.
ir::Expr trim_small(ir::DType dtype, const ir::Expr& code);
// f64 to f32 such that rounding the result to fewer bits gives what rounding the value would.
ir::Expr narrowed_to_odd(const ir::Expr& value);

}  // namespace gossamer::passes
