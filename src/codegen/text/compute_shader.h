// A kernel as a compute shader: what the languages that have workgroups share.
#pragma once

#include <string>
#include <vector>

#include "codegen/text/program.h"
#include "codegen/text/writer.h"

namespace gossamer::codegen::text {

struct ComputeOptions {
  int max_group_size = 256;
  int max_storage_buffers = 8;
  bool f16 = false;    // f16 tensors are stored as such; the device needs such memory
  bool exact = false;  // all quotients of floats are rounded as IEEE has it
  bool dots = false;   // the language has dot products of four signed bytes
};

struct Binding {
  ir::DType storage;     // f32, i32, u32 or f16
  bool vectors = false;  // elements are vectors of 4: the bound size is a multiple of 16 bytes
};

struct ComputeShader {
  std::string code;
  std::vector<Binding> bindings;  // of kernel.params; the last ones are written
  int group_size = 1;
  // The range is not constant: it is passed as scalar 0, the kernel's own scalars follow.
  bool range_scalar = false;
  int scalars = 0;  // range included
};

struct Compute {
  Program program;
  bool grid_is_2d = false;    // the range may exceed what one dimension of a dispatch holds
  bool range_scalar = false;  // the range is the first scalar
};

// Needs scheduled, no_vector_loops, no_unrolled_loops, flat_access, contiguous_vectors. `clamp`:
// place_buffers.h. Fails where a limit is exceeded or the language lacks something (strings, bit
// casts of 64-bit types).
Result<Compute> raise_compute(const ir::Kernel&, const ComputeOptions&, bool clamp = false);

// The shader without its code. Buffers are called b0, b1, ...
ComputeShader describe(const Compute&, Writer&);
// The names of the grid's and the group's variables; the latter may be none.
void name_places(const Compute&, Writer&, std::string grid, std::string invocation);

}  // namespace gossamer::codegen::text
