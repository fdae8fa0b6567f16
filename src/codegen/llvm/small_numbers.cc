// Floats of the small integers that lie in the bits of others, such as weights of four bits.
#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <optional>

#include "codegen/llvm/function_emitter.h"
#include "ir/build.h"

namespace gossamer::codegen::llvm_ {
namespace {

// One instruction chooses among the floats in a register by the last four bits of each lane.
constexpr int places = 16;

std::optional<double> constant_of(const Expr& e) {
  const auto* same = ir::as<ir::Broadcast>(e);
  return ir::as_float(same ? same->a : e);
}

// The integers below 16 that an expression is the floats of.
Expr small_integers(const Expr& e) {
  const auto* cast = ir::as<ir::Cast>(e);
  if (!cast || e->type.dtype != DType::f32 || ir::byte_size(cast->a->type.dtype) != 4) return {};
  const auto* bits = ir::as<ir::Binary>(cast->a);
  if (!bits || bits->op != ir::BinaryOp::bit_and) return {};
  const std::optional<double> mask = constant_of(bits->b);
  if (!mask || *mask < 0 || *mask >= places) return {};
  return *mask == places - 1 ? bits->a : cast->a;
}

}  // namespace

llvm::Value* FunctionEmitter::emit_small_numbers(const Expr& expr) {
  if (target_.vector_bits != 512 || target_.is_wasm || expr->type.lanes != places) return nullptr;
  double offset = 0;
  Expr which = small_integers(expr);
  if (const auto* difference = ir::as<ir::Binary>(expr);
      difference && difference->op == ir::BinaryOp::sub) {
    const std::optional<double> less = constant_of(difference->b);
    if (!less) return nullptr;
    which = small_integers(difference->a);
    offset = *less;
  }
  if (!which.get()) return nullptr;
  std::array<float, places> numbers;
  for (int i = 0; i < places; ++i) numbers[i] = static_cast<float>(i) - static_cast<float>(offset);
  llvm::Value* const table = llvm::ConstantDataVector::get(b_.getContext(), numbers);
  return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                            {table, emit_value(which)});
}

}  // namespace gossamer::codegen::llvm_
