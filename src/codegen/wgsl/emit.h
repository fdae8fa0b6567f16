// Kernels to WGSL.
#pragma once

#include <string>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::codegen::wgsl {

struct Options {
  int max_group_size = 256;
  int max_storage_buffers = 8;
  bool f16 = false;    // f16 tensors are stored as such; the device needs shader-f16
  bool exact = false;  // all quotients of floats are rounded as IEEE has it
};

struct Binding {
  ir::DType storage;     // f32, i32, u32 or f16
  bool vectors = false;  // array<vec4<...>>: the bound size is a multiple of 16 bytes
};

struct Shader {
  std::string code;               // entry point "main"; bindings as docs/specs/package.md has them
  std::vector<Binding> bindings;  // of kernel.params, at @binding(i); the last is written
  int group_size = 1;
  // The range is not constant: it is passed as scalar 0, the kernel's own scalars follow.
  bool range_scalar = false;
  int scalars =
      0;  // in the uniform buffer at @binding(bindings.size()), range included; 0: no such binding
};

// Needs scheduled, no_vector_loops, no_unrolled_loops, flat_access, contiguous_vectors. Fails where
// a limit is exceeded or WebGPU lacks something (strings, bit casts of 64-bit types).
Result<Shader> emit(const ir::Kernel&, const Options& options = {});

}  // namespace gossamer::codegen::wgsl
