// The spellings of GLSL ES 3.00.
#pragma once

#include <string>
#include <string_view>

#include "codegen/text/dialect.h"

namespace gossamer::codegen::glsl {

extern const text::Dialect dialect;
extern const text::Dialect compute_dialect;  // the same with workgroups

// The definitions that code in either needs in front of it.
std::string support_functions(std::string_view code);

}  // namespace gossamer::codegen::glsl
