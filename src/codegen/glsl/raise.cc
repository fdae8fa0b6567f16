#include "codegen/glsl/raise.h"

namespace gossamer::codegen::glsl {

Result<text::Program> raise(const ir::Kernel& kernel, const Options& options) {
  GS_ASSIGN(text::Program program, text::raise_program(kernel, options.exact));
  GS_CHECK(!program.group.get() && program.group_buffers.empty(), "workgroups in fragment program ",
           kernel.name);
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    GS_CHECK(kernel.params[i].written == (i + 1 == kernel.params.size()),
             "the last buffer, and no other, is written by ", kernel.name);
    GS_CHECK(kernel.params[i].buffer->layout.memory == ir::Memory::texture, "buffer ",
             kernel.params[i].buffer->name, " is no texture");
  }
  const int textures = static_cast<int>(kernel.params.size()) - 1;
  if (textures > options.max_textures) {
    return fail_at(
        kernel.name,
        cat(textures, " textures are read; at most ", options.max_textures, " are allowed"),
        "fuse fewer operators");
  }
  const int layers = kernel.params.back().buffer->layout.layers;
  if (layers > options.max_layers) {
    return fail_at(kernel.name, cat(layers, " layers are written; at most ", options.max_layers,
                                    " are allowed"));
  }
  return program;
}

}  // namespace gossamer::codegen::glsl
