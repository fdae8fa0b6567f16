// Expressions, except arithmetic.
#include <llvm/IR/IntrinsicsWebAssembly.h>

#include "codegen/llvm/function_emitter.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::codegen::llvm_ {

llvm::Type* FunctionEmitter::scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return b_.getFloatTy();
    case DType::f16:
      return b_.getHalfTy();
    case DType::f64:
      return b_.getDoubleTy();
    case DType::boolean:
      return b_.getInt1Ty();
    case DType::index:
      return b_.getIntNTy(target_.index_bits);
    case DType::bf16:
      return b_.getInt16Ty();
    case DType::string:
      break;
    default:
      return b_.getIntNTy(static_cast<unsigned>(8 * ir::byte_size(dtype)));
  }
  GS_CHECK(false, "no machine type for ", ir::name_of(dtype));
}

llvm::Type* FunctionEmitter::memory_type(DType dtype) {
  if (dtype == DType::boolean) return b_.getInt8Ty();
  if (dtype == DType::index) return b_.getInt32Ty();
  return scalar_type(dtype);
}

llvm::Type* FunctionEmitter::type_of(ir::Type type) {
  llvm::Type* element = scalar_type(type.dtype);
  return type.is_scalar() ? element : llvm::FixedVectorType::get(element, type.lanes);
}

llvm::Constant* FunctionEmitter::constant_int(ir::Type type, int64_t value) {
  return llvm::ConstantInt::get(type_of(type), static_cast<uint64_t>(value), true);
}

llvm::Constant* FunctionEmitter::constant_float(ir::Type type, double value) {
  if (type.dtype != DType::bf16) return llvm::ConstantFP::get(type_of(type), value);
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return constant_int(type, (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

llvm::Value* FunctionEmitter::splat(llvm::Value* value, int lanes) {
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes), value);
}

namespace {

constexpr int most_masks = 1;

}  // namespace

llvm::Value* FunctionEmitter::emit_value(const Expr& expr) {
  if (expr->kind == ir::NodeKind::Var) {
    const auto found = vars_.find(ir::as<ir::VarNode>(expr));
    GS_CHECK(found != vars_.end(), "variable ", ir::as<ir::VarNode>(expr)->name, " is not bound");
    return found->second;
  }
  if (expr->references <= 1) return emit_uncached(expr);
  const Known known = cache_[expr.get()];
  if (known.value && (known.mask == mask_ || known.times > most_masks)) return known.value;
  // Arms within arms are masks without end. What many of them want is evaluated for all lanes: its
  // loads are inside their buffers anyway (clamp_guarded_loads), a mask only spares the access.
  llvm::Value* const outer = mask_;
  if (known.times == most_masks) mask_ = nullptr;
  llvm::Value* value = emit_uncached(expr);
  cache_[expr.get()] = {value, mask_, known.times + 1};
  mask_ = outer;
  return value;
}

llvm::Value* FunctionEmitter::emit_uncached(const Expr& expr) {
  if (llvm::Value* numbers = emit_small_numbers(expr)) return numbers;
  const ir::Type type = expr->type;
  switch (expr->kind) {
    case ir::NodeKind::IntImm:
      return constant_int(type, ir::as<ir::IntImm>(expr)->value);
    case ir::NodeKind::FloatImm:
      return constant_float(type, ir::as<ir::FloatImm>(expr)->value);
    case ir::NodeKind::Unary:
      return emit_unary(*ir::as<ir::Unary>(expr));
    case ir::NodeKind::Binary:
      return emit_binary(*ir::as<ir::Binary>(expr));
    case ir::NodeKind::Fma: {
      const auto* node = ir::as<ir::Fma>(expr);
      llvm::Value* a = emit_value(node->a);
      llvm::Value* b = emit_value(node->b);
      llvm::Value* c = emit_value(node->c);
      if (!ir::is_float(type.dtype)) return b_.CreateAdd(b_.CreateMul(a, b), c);
      if (target_.has_fma && (type.dtype == DType::f32 || type.dtype == DType::f64))
        return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
      if (target_.relaxed_madd && type.dtype == DType::f32 && type.lanes == 4)
        return b_.CreateIntrinsic(llvm::Intrinsic::wasm_relaxed_madd, {a->getType()}, {a, b, c});
      return b_.CreateFAdd(b_.CreateFMul(a, b), c);
    }
    case ir::NodeKind::Dot:
      return emit_dot(*ir::as<ir::Dot>(expr));
    case ir::NodeKind::Select:
      return emit_select(*ir::as<ir::Select>(expr));
    case ir::NodeKind::Cast: {
      const Expr& from = ir::as<ir::Cast>(expr)->a;
      return cast(emit_value(from), from->type, type);
    }
    case ir::NodeKind::Bitcast: {
      const Expr& from = ir::as<ir::Bitcast>(expr)->a;
      if (type.is_scalar() && !mask_) {
        if (llvm::Value* word = emit_word(from, type)) return word;
      }
      llvm::Value* value = emit_value(from);
      llvm::Type* to = type_of(type);
      if (value->getType() == to) return value;
      // A boolean is a bit here and a byte in memory.
      if (from->type.dtype == DType::boolean) return b_.CreateZExt(value, to);
      if (type.dtype == DType::boolean)
        return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
      return b_.CreateBitCast(value, to);
    }
    case ir::NodeKind::Load:
      return emit_load(*ir::as<ir::Load>(expr));
    case ir::NodeKind::Ramp: {
      const auto* ramp = ir::as<ir::Ramp>(expr);
      std::vector<llvm::Constant*> steps;
      for (int64_t lane = 0; lane < type.lanes; ++lane)
        steps.push_back(constant_int({type.dtype, 1}, lane * ramp->stride));
      return b_.CreateAdd(splat(emit_value(ramp->base), type.lanes),
                          llvm::ConstantVector::get(steps));
    }
    case ir::NodeKind::Broadcast:
      return splat(emit_value(ir::as<ir::Broadcast>(expr)->a), type.lanes);
    case ir::NodeKind::Lane: {
      const auto* node = ir::as<ir::Lane>(expr);
      llvm::Value* vector = emit_value(node->a);
      return b_.CreateExtractElement(vector, emit_value(node->lane));
    }
    case ir::NodeKind::MakeVector: {
      const auto& lanes = ir::as<ir::MakeVector>(expr)->lanes;
      llvm::Value* vector = llvm::PoisonValue::get(type_of(type));
      llvm::Value* const outer = mask_;
      for (uint64_t lane = 0; lane < lanes.size(); ++lane) {
        if (outer && outer->getType()->isVectorTy()) mask_ = b_.CreateExtractElement(outer, lane);
        vector = b_.CreateInsertElement(vector, emit_value(lanes[lane]), lane);
      }
      mask_ = outer;
      return vector;
    }
    default:
      GS_CHECK(false, "no native code for ", ir::name_of(expr->kind));
  }
}

namespace {

bool has_load(const Expr& expr) {
  bool found = false;
  ir::visit(expr, [&](const Expr& part) {
    found = found || part->kind == ir::NodeKind::Load;
    return !found;
  });
  return found;
}

}  // namespace

// Both arms are evaluated, without branches; loads in an arm are masked by its condition.
llvm::Value* FunctionEmitter::emit_select(const ir::Select& select) {
  llvm::Value* condition = emit_value(select.condition);
  // A condition equal in every lane is a scalar again, so that it selects addresses.
  llvm::Value* guard = condition;
  if (const auto* one = ir::as<ir::Broadcast>(select.condition)) guard = emit_value(one->a);
  llvm::Value* const outer = mask_;
  const auto arm = [&](const Expr& expr, bool negated) {
    if (!has_load(expr)) return emit_value(expr);
    llvm::Value* mask = negated ? b_.CreateNot(guard) : guard;
    if (outer && outer->getType() == mask->getType()) {
      mask = b_.CreateAnd(outer, mask);
    } else if (outer) {  // one of them is a vector
      const bool outer_is_vector = outer->getType()->isVectorTy();
      auto* vector = llvm::cast<llvm::FixedVectorType>((outer_is_vector ? outer : mask)->getType());
      const int lanes = static_cast<int>(vector->getNumElements());
      mask = b_.CreateAnd(outer_is_vector ? outer : splat(outer, lanes),
                          outer_is_vector ? splat(mask, lanes) : mask);
    }
    mask_ = mask;
    llvm::Value* value = emit_value(expr);
    mask_ = outer;
    return value;
  };
  llvm::Value* yes = arm(select.yes, false);
  llvm::Value* no = arm(select.no, true);
  return b_.CreateSelect(condition, yes, no);
}

}  // namespace gossamer::codegen::llvm_
