// Weights of four bits as floats.
#include "codegen/small_numbers.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <array>

#include "codegen/llvm/function_emitter.h"

namespace gossamer::codegen::llvm_ {

llvm::Value* FunctionEmitter::emit_small_numbers(const Expr& expr) {
  // One instruction chooses among the floats in a register by the last four bits of each lane.
  constexpr int places = 16;
  if (target_.vector_bits != 512 || target_.is_wasm || expr->type.lanes != places) return nullptr;
  const auto small = small_numbers(expr);
  if (!small) return nullptr;
  std::array<float, places> numbers;
  for (int i = 0; i < places; ++i)
    numbers[i] = static_cast<float>(i) - static_cast<float>(small->offset);
  llvm::Value* const table = llvm::ConstantDataVector::get(b_.getContext(), numbers);
  llvm::Value* which = emit_value(small->words);
  if (small->mask != places - 1)
    which = b_.CreateAnd(which, llvm::ConstantInt::get(which->getType(), small->mask));
  return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {table, which});
}

}  // namespace gossamer::codegen::llvm_
