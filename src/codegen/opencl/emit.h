// Kernels to OpenCL C 1.2.
#pragma once

#include "codegen/text/compute_shader.h"

namespace gossamer::codegen::opencl {

// `f16` is not looked at.
using Options = text::ComputeOptions;
// A program of one kernel, "run": pointers to kernel.params in order, then the scalars as ints. Its
// work-groups have one dimension; constants without a suffix are floats, so it is built with
// -cl-single-precision-constant.
using Shader = text::ComputeShader;

// Errors: as of text::raise_compute.
Result<Shader> emit(const ir::Kernel&, const Options& options = {});

}  // namespace gossamer::codegen::opencl
