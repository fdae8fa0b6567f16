// OpenCL C's spellings.
#pragma once

#include "codegen/text/dialect.h"

namespace gossamer::codegen::opencl {

extern const text::Dialect dialect;

}  // namespace gossamer::codegen::opencl
