// The machine that code is made for.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace gossamer::codegen::llvm_ {

struct Target {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string cpu, features;
  bool has_fma = false;   // a * b + c in one instruction
  bool has_half = false;  // converts f16 in one instruction
  int vector_bits = 128;  // widest registers
};

Result<Target> make_target(const std::string& cpu);

}  // namespace gossamer::codegen::llvm_
