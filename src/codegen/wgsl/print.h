#pragma once

#include "codegen/wgsl/emit.h"

namespace gossamer::codegen::wgsl {

Shader print(const text::Compute&);

}  // namespace gossamer::codegen::wgsl
