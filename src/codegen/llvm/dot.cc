// Sums of products of the integers in words, by the instructions that the machine has for them.
#include <llvm/IR/IntrinsicsWebAssembly.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/llvm/function_emitter.h"
#include "ir/build.h"

namespace gossamer::codegen::llvm_ {

using llvm::Intrinsic::ID;

llvm::Value* FunctionEmitter::emit_dot(const ir::Dot& dot) {
  const int bits = 32 * dot.type.lanes;
  const size_t width = bits == 128 ? 0 : bits == 256 ? 1 : 2;
  const bool in_register = bits == 128 || bits == 256 || bits == 512;
  const bool halves =
      dot.terms == 2 && dot.a->type.dtype == DType::i32 && dot.b->type.dtype == DType::i32;
  const bool bytes =
      dot.terms == 4 && dot.a->type.dtype == DType::u32 && dot.b->type.dtype == DType::i32;
  const auto parts = [&](llvm::Value* words) {
    return b_.CreateBitCast(
        words, llvm::FixedVectorType::get(b_.getInt16Ty(), 2 * unsigned{dot.type.lanes}));
  };
  if (in_register && (halves || bytes) && bits <= target_.dot_bits) {
    constexpr ID of_halves[] = {llvm::Intrinsic::x86_avx512_vpdpwssd_128,
                                llvm::Intrinsic::x86_avx512_vpdpwssd_256,
                                llvm::Intrinsic::x86_avx512_vpdpwssd_512};
    constexpr ID of_bytes[] = {llvm::Intrinsic::x86_avx512_vpdpbusd_128,
                               llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                               llvm::Intrinsic::x86_avx512_vpdpbusd_512};
    llvm::Value* a = emit_value(dot.a);
    llvm::Value* b = emit_value(dot.b);
    llvm::Value* c = emit_value(dot.c);
    return b_.CreateIntrinsic((halves ? of_halves : of_bytes)[width], {}, {c, a, b});
  }
  if (in_register && halves && bits <= target_.pair_bits) {
    constexpr ID of_pairs[] = {llvm::Intrinsic::x86_sse2_pmadd_wd,
                               llvm::Intrinsic::x86_avx2_pmadd_wd,
                               llvm::Intrinsic::x86_avx512_pmaddw_d_512};
    const ID id = target_.is_wasm ? static_cast<ID>(llvm::Intrinsic::wasm_dot) : of_pairs[width];
    llvm::Value* a = parts(emit_value(dot.a));
    llvm::Value* b = parts(emit_value(dot.b));
    return b_.CreateAdd(b_.CreateIntrinsic(id, {}, {a, b}), emit_value(dot.c));
  }
  expanded_.push_back(ir::dot_by_terms(dot));
  return emit_value(expanded_.back());
}

}  // namespace gossamer::codegen::llvm_
