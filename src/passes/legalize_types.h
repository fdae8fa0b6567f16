#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// For CPUs and wasm: f16 and bf16 remain storage only. Their buffers become u16 buffers, loads and
// stores convert (rounding to nearest even; NaN stays NaN), arithmetic and private buffers are f32,
// and a Cast to f16 rounds. Buffers whose storage type differs from their value type convert
// likewise. Establishes storage_types.
Result<ir::Kernel> legalize_types(const ir::Kernel& kernel);
// The same for processors with instructions between f16 and f32: conversions stay Casts.
Result<ir::Kernel> legalize_types_but_halves(const ir::Kernel& kernel);

// The conversions by themselves, on scalars and vectors; bits are u16.
ir::Expr half_to_single(const ir::Expr& bits);
ir::Expr single_to_half(const ir::Expr& value);
// half_to_single(single_to_half(value)) in fewer operations.
ir::Expr rounded_to_half(const ir::Expr& value);
ir::Expr bfloat_to_single(const ir::Expr& bits);
ir::Expr single_to_bfloat(const ir::Expr& value);

}  // namespace gossamer::passes
