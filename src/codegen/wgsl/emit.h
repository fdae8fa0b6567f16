// Kernels to WGSL.
#pragma once

#include "codegen/text/compute_shader.h"

namespace gossamer::codegen::wgsl {

// f16: the device needs shader-f16.
using Options = text::ComputeOptions;
// Entry point "main"; bindings as docs/specs/package.md has them: kernel.params at @binding(i), the
// scalars in the uniform buffer at @binding(bindings.size()).
using Shader = text::ComputeShader;

// Errors: as of text::raise_compute.
Result<Shader> emit(const ir::Kernel&, const Options& options = {});

}  // namespace gossamer::codegen::wgsl
