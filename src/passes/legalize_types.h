#pragma once

#include "ir/nodes.h"
#include "ir/type_rules.h"

namespace gossamer::passes {

// Gives every buffer the type that memory holds and every operation a type that the target computes
// in. 16-bit floats are f32, rounded to nearest even where a Cast says so or, on machines of words,
// where they are stored; NaN stays NaN. Small types are codes while they are moved, and numbers of
// f32 or i32 for arithmetic. On machines of words, narrow integers wrap after arithmetic and those
// of 64 bits have 32. Fails there for strings, bit casts between types whose bits are gone, and
// constants of 64 bits that 32 cannot hold (unless they only bound a value). Establishes
// storage_types.
Result<ir::Kernel> legalize_types(const ir::Kernel& kernel, const ir::TypeRules& rules = {});

}  // namespace gossamer::passes
