// Kernels to compute shaders of GLSL 4.30 and GLSL ES 3.10, in what both have.
#pragma once

#include "codegen/text/compute_shader.h"

namespace gossamer::codegen::glsl {

// `f16` is not looked at. The code begins behind the line that says the version. kernel.params are
// storage blocks at binding i; scalars, the range among them, the uniform ints at location 0.
// Errors: as of text::raise_compute.
Result<text::ComputeShader> emit_compute(const ir::Kernel&, const text::ComputeOptions& = {});

}  // namespace gossamer::codegen::glsl
