// The spellings of GLSL ES 3.00.
#pragma once

#include "codegen/text/dialect.h"

namespace gossamer::codegen::glsl {

extern const text::Dialect dialect;

}  // namespace gossamer::codegen::glsl
