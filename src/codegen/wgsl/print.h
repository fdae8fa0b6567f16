#pragma once

#include "codegen/wgsl/raise.h"

namespace gossamer::codegen::wgsl {

Shader print(const Raised&);

}  // namespace gossamer::codegen::wgsl
