// The machine that code is made for.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/llvm/emit.h"

namespace gossamer::codegen::llvm_ {

struct Target {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string cpu, features;
  bool has_fma = false;       // a * b + c in one instruction
  bool relaxed_madd = false;  // wasm's, which may round once or twice
  bool has_half = false;      // converts f16 in one instruction
  bool masked_loads = true;   // a vector of which lanes are wanted is loaded by an instruction
  bool is_wasm = false;
  int pair_bits = 0;      // widest vectors of products of 16 bits that are summed in pairs
  int dot_bits = 0;       // widest vectors of such sums, and of four products of bytes, in one step
  int vector_bits = 128;  // widest registers
  unsigned index_bits = 64;  // of loop counters and addresses' arithmetic
};

Result<Target> make_target(const LlvmOptions& options);

// Optimises the module and returns it as an object file of the target.
Result<std::vector<std::byte>> compile_object(llvm::Module& module, const Target& target);

}  // namespace gossamer::codegen::llvm_
