// WGSL's spellings.
#pragma once

#include "codegen/text/dialect.h"

namespace gossamer::codegen::wgsl {

extern const text::Dialect dialect;

}  // namespace gossamer::codegen::wgsl
