#include "codegen/glsl/emit.h"

#include "codegen/glsl/print.h"
#include "codegen/glsl/raise.h"
#include "ir/verify.h"

namespace gossamer::codegen::glsl {

Result<Shader> emit(const ir::Kernel& kernel, const Options& options) {
  using enum ir::Property;
  GS_TRY(ir::verify(kernel, scheduled | no_vector_loops | no_unrolled_loops | flat_access |
                                contiguous_vectors | written_once));
  GS_ASSIGN(const text::Program program, raise(kernel, options));
  return print(program);
}

}  // namespace gossamer::codegen::glsl
