#include "codegen/opencl/emit.h"

#include "codegen/opencl/print.h"

namespace gossamer::codegen::opencl {

Result<Shader> emit(const ir::Kernel& kernel, const Options& options) {
  GS_ASSIGN(text::Compute compute, text::raise_compute(kernel, options, true));
  // A global size has as many work-groups as are asked for.
  compute.grid_is_2d = compute.range_scalar = false;
  return print(compute);
}

}  // namespace gossamer::codegen::opencl
