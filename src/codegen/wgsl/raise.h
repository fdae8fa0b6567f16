// From a kernel to what WGSL can say.
#pragma once

#include "codegen/text/program.h"
#include "codegen/wgsl/emit.h"

namespace gossamer::codegen::wgsl {

struct Raised {
  text::Program program;
  bool grid_is_2d = false;    // the range may exceed what one dimension of a dispatch holds
  bool range_scalar = false;  // the range is the first scalar
};
Result<Raised> raise(const ir::Kernel&, const Options&);

}  // namespace gossamer::codegen::wgsl
