#include "codegen/wgsl/emit.h"

#include "codegen/wgsl/print.h"
#include "codegen/wgsl/raise.h"
#include "ir/verify.h"

namespace gossamer::codegen::wgsl {

Result<Shader> emit(const ir::Kernel& kernel, const Options& options) {
  using enum ir::Property;
  GS_TRY(ir::verify(
      kernel, scheduled | no_vector_loops | no_unrolled_loops | flat_access | contiguous_vectors));
  GS_ASSIGN(const Raised raised, raise(kernel, options));
  return print(raised);
}

}  // namespace gossamer::codegen::wgsl
