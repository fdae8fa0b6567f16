// Kernels to fragment shaders of GLSL ES 3.00 (WebGL 2).
#pragma once

#include <string>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::codegen::glsl {

struct Options {
  int max_textures = 16;
  int max_layers = 8;
  bool exact = false;  // all quotients of floats are rounded as IEEE has it
};

struct Binding {
  ir::DType storage;  // f32, i32 or u32: RGBA32F, RGBA32I, RGBA32UI
  int layers = 1;     // more than one: a sampler2DArray, or as many attachments
};

struct Shader {
  std::string code;  // fragment shader; samplers and uniforms as docs/specs/package.md has them
  std::vector<Binding> bindings;  // of kernel.params: samplers b0, b1, ...; the last is the output
  int scalars = 0;                // uniforms s0, s1, ...
};

// Needs scheduled, no_vector_loops, no_unrolled_loops, flat_access, contiguous_vectors,
// written_once, and buffers in texture memory. A fragment past the range computes something nobody
// reads.
Result<Shader> emit(const ir::Kernel&, const Options& options = {});

}  // namespace gossamer::codegen::glsl
