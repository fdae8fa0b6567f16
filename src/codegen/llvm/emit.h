// Kernels to native machine code through LLVM, and to the shared library of a cpu package.
// Printing takes no decisions: the vectors, tiles and loops of the IR are what the machine runs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/plan_function.h"
#include "ir/nodes.h"

namespace gossamer::codegen::llvm_ {

struct LlvmOptions {
  std::string cpu = "native";  // LLVM's name of a processor of this machine's architecture
  bool wasm = false;           // wasm32 instead, whose kernels count in 32 bits
  bool relaxed_simd = false;   // wasm: multiply-adds that may round once or twice
  bool fixed_place = false;    // wasm: code that is linked into a program, not loaded into one
};

// Kernels must be scheduled, without vectorized and unrolled loops, with flat accesses of the
// storage types and without transcendental operations (ir::Property). Kernel i becomes
//   void k<i>(intptr_t begin, intptr_t end, void* const* args)
// with args: the buffers' addresses, then the scalars as intptr_t; segment k of `plan`,
// where given, becomes (segment_name)
//   void plan_<k>(const double* dims, double* values).
// The object needs no library, libc included. Errors: a processor that LLVM does not know or that
// lacks what the code needs (x86-64: SSE4.1).
Result<std::vector<std::byte>> emit_object(std::span<const ir::Kernel> kernels,
                                           const PlanFunction* plan, const LlvmOptions& options);

// The same as LLVM's bitcode, which src/library makes libraries of.
Result<std::vector<std::byte>> emit_bitcode(std::span<const ir::Kernel> kernels,
                                            const PlanFunction* plan, const LlvmOptions& options);

// kernels.so of an object, by the first of ld.lld-19, ld.lld, ld and cc that is installed. Errors:
// none of them is, or it failed (its own first line is the message).
Result<std::vector<std::byte>> link_shared_library(std::span<const std::byte> object);
// libNAME.so, which finds the C library in the program that loads it.
Result<std::vector<std::byte>> link_shared_library(std::span<const std::byte> object,
                                                   const std::string& name);
// By wasm-ld-19 or wasm-ld: a program with an export _start (and, with threads, wasi_thread_start
// and a memory that is imported, which they share), and a module of the convention of dynamic
// linking that exports what is named.
Result<std::vector<std::byte>> link_wasm_program(std::span<const std::byte> object, bool threads);
// What a component is made with: the world of its service (WIT), a program for Node.js that has
// jco.
struct ComponentTools {
  std::span<const std::byte> wit, encode;
};
// By one of these, and by wasm-tools or jco: a component for wasi:http of a model and its service.
Result<std::vector<std::byte>> link_wasm_component(std::span<const std::byte> model,
                                                   std::span<const std::byte> service,
                                                   const ComponentTools& tools);
Result<std::vector<std::byte>> link_wasm_library(std::span<const std::byte> object,
                                                 std::span<const std::string> exported);

// What a machine must have to run code made for a processor, as the manifest's `needs` spell it:
// "cpu-avx512" or "cpu-avx2" on x86-64, and "cpu-avx512-vnni" or "cpu-avx-vnni". Errors: as
// emit_object.
Result<std::vector<std::string>> needs_of(const LlvmOptions& options);

// The vector registers that the code may use. Errors: as emit_object.
struct Registers {
  int bits = 0, count = 0;
  bool dots = false;       // sums of two products of 16 bits in one instruction
  bool byte_dots = false;  // and of four of bytes
  bool halves = false;     // f16 to and from f32 in one instruction
};
Result<Registers> registers_of(const LlvmOptions& options);

std::string host_cpu();  // what "native" means here: "znver5"

}  // namespace gossamer::codegen::llvm_
