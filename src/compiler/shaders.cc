#include "compiler/shaders.h"

#include "codegen/glsl/emit.h"
#ifndef __wasm__
#include "codegen/glsl/emit_compute.h"
#include "codegen/opencl/emit.h"
#endif
#include "codegen/wgsl/emit.h"

namespace gossamer::compiler {

Result<ShaderText> print_shader(const ir::Kernel& kernel, const target::Capabilities& caps,
                                bool exact) {
  if (caps.texture_memory) {
    GS_ASSIGN(codegen::glsl::Shader shader,
              codegen::glsl::emit(kernel, {.max_textures = caps.max_textures,
                                           .max_layers = caps.max_layers,
                                           .exact = exact}));
    return ShaderText{std::move(shader.code), shader.scalars};
  }
  const codegen::text::ComputeOptions options{.max_group_size = caps.max_group_size,
                                              .max_storage_buffers = caps.max_storage_buffers,
                                              .f16 = caps.has_f16,
                                              .exact = exact,
                                              .dots = caps.byte_dots};
  auto emit = codegen::wgsl::emit;
  if (caps.kind != TargetKind::webgpu) {
#ifndef __wasm__
    emit = caps.kind == TargetKind::opencl ? codegen::opencl::emit : codegen::glsl::emit_compute;
#else  // they are for machines, not for pages
    return fail_at(cat("target \"", name_of(caps.kind), "\""), "this build has no generator for it",
                   "compile with the command line, C++ or Python");
#endif
  }
  GS_ASSIGN(codegen::text::ComputeShader shader, emit(kernel, options));
  return ShaderText{std::move(shader.code), shader.scalars, shader.group_size, shader.range_scalar};
}

}  // namespace gossamer::compiler
