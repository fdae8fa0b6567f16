// From lowered kernels to the bytes of one WebAssembly module, without LLVM.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codegen/plan_function.h"
#include "ir/nodes.h"

namespace gossamer::codegen::wasm {

struct WasmOptions {
  bool relaxed_simd = false;          // its multiply-add and lane select of 32 bits
  int memory_pages = 1;               // least size of the imported memory, in 64 KiB pages
  std::span<const int> numbers = {};  // of the exports k0, k1, ...; empty: in order
  // The dot product of relaxed SIMD for unsigned bytes, on engines where that is exact.
  bool relaxed_dots = false;
};

// The module of docs/specs/package.md: imports env.memory; exports k0, k1, ... as (begin, end,
// args) in the order of `kernels`, and the functions of the plan unless it is null. Kernels of
// equal code share one function.
//
// Kernels must be scheduled, flat in access, with no unrolled or vectorized loop, contiguous
// vectors and no transcendental function left (ir/verify.h); f16 and bf16 must have been legalised
// away. Vectors have any number of lanes. Kernels whose private buffers do not fit into locals need
// scratch memory: the module then also exports the global `scratch` (i32, mutable), which the
// loader points to `scratch_bytes` (an i32 global) of memory of the instance's own, aligned to 16.
std::vector<std::byte> emit_module(std::span<const ir::Kernel> kernels, const PlanFunction* plan,
                                   const WasmOptions& options);

}  // namespace gossamer::codegen::wasm
