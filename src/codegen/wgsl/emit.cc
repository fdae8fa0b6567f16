#include "codegen/wgsl/emit.h"

#include "codegen/wgsl/print.h"

namespace gossamer::codegen::wgsl {

Result<Shader> emit(const ir::Kernel& kernel, const Options& options) {
  GS_ASSIGN(const text::Compute compute, text::raise_compute(kernel, options));
  return print(compute);
}

}  // namespace gossamer::codegen::wgsl
