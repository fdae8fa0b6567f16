// Constants as C spells them.
#pragma once

#include <cstdint>
#include <string>

#include "ir/type.h"

namespace gossamer::codegen::c {

// Exact; of a type that C has (no halves). Negative ones stand in parentheses.
std::string int_literal(ir::DType dtype, int64_t value);
std::string float_literal(ir::DType dtype, double value);

}  // namespace gossamer::codegen::c
