#pragma once

#include "codegen/glsl/emit.h"
#include "codegen/text/program.h"

namespace gossamer::codegen::glsl {

Shader print(const text::Program&);

}  // namespace gossamer::codegen::glsl
