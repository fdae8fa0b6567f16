// From a kernel to what a fragment shader of GLSL ES 3.00 can say.
#pragma once

#include "codegen/glsl/emit.h"
#include "codegen/text/program.h"

namespace gossamer::codegen::glsl {

Result<text::Program> raise(const ir::Kernel&, const Options&);

}  // namespace gossamer::codegen::glsl
