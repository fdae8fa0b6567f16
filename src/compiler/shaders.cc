#include "compiler/shaders.h"

#include "codegen/glsl/emit.h"
#include "codegen/wgsl/emit.h"

namespace gossamer::compiler {

Result<ShaderText> print_shader(const ir::Kernel& kernel, const schedule::Capabilities& caps,
                                bool exact) {
  if (caps.kind == schedule::TargetKind::webgl) {
    GS_ASSIGN(codegen::glsl::Shader shader,
              codegen::glsl::emit(kernel, {.max_textures = caps.max_textures,
                                           .max_layers = caps.max_layers,
                                           .exact = exact}));
    return ShaderText{std::move(shader.code), shader.scalars, false};
  }
  GS_ASSIGN(codegen::wgsl::Shader shader,
            codegen::wgsl::emit(kernel, {.max_group_size = caps.max_group_size,
                                         .max_storage_buffers = caps.max_storage_buffers,
                                         .f16 = caps.has_f16,
                                         .exact = exact}));
  return ShaderText{std::move(shader.code), shader.scalars, shader.range_scalar};
}

}  // namespace gossamer::compiler
