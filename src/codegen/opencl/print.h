#pragma once

#include "codegen/opencl/emit.h"

namespace gossamer::codegen::opencl {

Shader print(const text::Compute&);

}  // namespace gossamer::codegen::opencl
