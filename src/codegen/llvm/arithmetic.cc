// Arithmetic as src/ir/nodes.def defines it: nothing traps, nothing is undefined.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <numeric>

#include "codegen/llvm/function_emitter.h"
#include "ir/build.h"

namespace gossamer::codegen::llvm_ {

using ir::BinaryOp;
using ir::UnaryOp;
using llvm::Intrinsic::ID;

namespace {

bool is_narrow_float(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

llvm::Value* FunctionEmitter::emit_unary(const ir::Unary& unary) {
  const ir::Type type = unary.a->type;
  llvm::Value* a = emit_value(unary.a);
  // Halves are computed in f32.
  if (is_narrow_float(type.dtype)) {
    const ir::Type wide(DType::f32, type.lanes);
    Expr inner = ir::unary(unary.op, ir::cast(wide, unary.a));
    llvm::Value* value = emit_value(inner);
    return inner->type.dtype == DType::boolean ? value : cast(value, wide, type);
  }
  const auto intrinsic = [&](ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  const bool real = ir::is_float(type.dtype);
  switch (unary.op) {
    case UnaryOp::neg:
      return real ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case UnaryOp::logical_not:
    case UnaryOp::bit_not:
      return b_.CreateNot(a);
    case UnaryOp::abs:
      if (real) return intrinsic(llvm::Intrinsic::fabs);
      if (!ir::is_signed_int(type.dtype)) return a;
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
    case UnaryOp::floor:
      return real ? intrinsic(llvm::Intrinsic::floor) : a;
    case UnaryOp::ceil:
      return real ? intrinsic(llvm::Intrinsic::ceil) : a;
    case UnaryOp::round:
      return real ? intrinsic(llvm::Intrinsic::roundeven) : a;
    case UnaryOp::trunc:
      return real ? intrinsic(llvm::Intrinsic::trunc) : a;
    case UnaryOp::sqrt:
      return intrinsic(llvm::Intrinsic::sqrt);
    case UnaryOp::is_nan:
      return b_.CreateFCmpUNO(a, a);
    case UnaryOp::is_inf:
      return b_.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs),
                              llvm::ConstantFP::getInfinity(a->getType()));
    default:
      GS_CHECK(false, ir::name_of(unary.op), " should have been lowered to arithmetic");
  }
}

llvm::Value* FunctionEmitter::emit_binary(const ir::Binary& binary) {
  const ir::Type type = binary.a->type;
  if (is_narrow_float(type.dtype)) {
    const ir::Type wide(DType::f32, type.lanes);
    Expr inner = ir::binary(binary.op, ir::cast(wide, binary.a), ir::cast(wide, binary.b));
    llvm::Value* value = emit_value(inner);
    return inner->type.dtype == DType::boolean ? value : cast(value, wide, type);
  }
  llvm::Value* a = emit_value(binary.a);
  llvm::Value* b = emit_value(binary.b);
  if (ir::is_comparison(binary.op)) return compare(binary.op, type.dtype, a, b);
  if (ir::is_float(type.dtype)) return float_binary(binary.op, a, b);
  return int_binary(binary.op, type, a, b, binary.b);
}

llvm::Value* FunctionEmitter::compare(BinaryOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  const bool real = ir::is_float(dtype), is_signed = ir::is_signed_int(dtype);
  const auto pick = [&](P for_floats, P for_signed, P for_unsigned) {
    return b_.CreateCmp(real ? for_floats : is_signed ? for_signed : for_unsigned, a, b);
  };
  switch (op) {
    case BinaryOp::eq:
      return pick(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case BinaryOp::ne:
      return pick(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    case BinaryOp::lt:
      return pick(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case BinaryOp::le:
      return pick(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case BinaryOp::gt:
      return pick(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    default:
      return pick(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
  }
}

// x86's max(a, b) is a > b ? a : b and so gives b when either is NaN: it is right unless a is NaN.
llvm::Value* FunctionEmitter::float_extreme(bool largest, llvm::Value* a, llvm::Value* b) {
  if (llvm::isa<llvm::Constant>(b)) std::swap(a, b);
  llvm::Value* better = largest ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
  llvm::Value* best = b_.CreateSelect(better, a, b);
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(a); constant && !constant->isNaN())
    return best;
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, best);
}

// By AVX-512's instruction, register by register.
llvm::Value* FunctionEmitter::scaled(llvm::Value* a, llvm::Value* n) {
  llvm::Type* const type = a->getType();
  const bool wide = type->getScalarType()->isDoubleTy();
  const int lanes = wide ? 8 : 16;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const int count = vector ? static_cast<int>(vector->getNumElements()) : 1;
  const auto in_vector = [&](llvm::Value* value) {
    if (vector) return value;
    auto* one = llvm::FixedVectorType::get(type, 1);
    return b_.CreateInsertElement(llvm::PoisonValue::get(one), value, uint64_t{0});
  };
  llvm::Value* const all_a = in_vector(a);
  llvm::Value* const all_n = in_vector(n);
  llvm::Value* whole = nullptr;
  for (int first = 0; first < count; first += lanes) {
    const auto piece = [&](llvm::Value* value) {
      llvm::SmallVector<int, 16> from(static_cast<size_t>(lanes), llvm::PoisonMaskElem);
      for (int lane = 0; lane < std::min(lanes, count - first); ++lane)
        from[static_cast<size_t>(lane)] = first + lane;
      return count == lanes ? value : b_.CreateShuffleVector(value, from);
    };
    llvm::Value* const x = piece(all_a);
    llvm::Value* const mask =
        llvm::ConstantInt::getAllOnesValue(wide ? b_.getInt8Ty() : b_.getInt16Ty());
    constexpr int current_rounding = 4;
    llvm::Value* const made =
        b_.CreateIntrinsic(wide ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                                : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512,
                           {}, {x, piece(all_n), x, mask, b_.getInt32(current_rounding)});
    whole = whole ? llvm::concatenateVectors(b_, {whole, made}) : made;
  }
  if (!vector) return b_.CreateExtractElement(whole, uint64_t{0});
  llvm::SmallVector<int, 64> kept(static_cast<size_t>(count));
  std::iota(kept.begin(), kept.end(), 0);
  const auto made = llvm::cast<llvm::FixedVectorType>(whole->getType())->getNumElements();
  return static_cast<int>(made) == count ? whole : b_.CreateShuffleVector(whole, kept);
}

llvm::Value* FunctionEmitter::float_binary(BinaryOp op, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case BinaryOp::add:
      return b_.CreateFAdd(a, b);
    case BinaryOp::sub:
      return b_.CreateFSub(a, b);
    case BinaryOp::mul:
      return b_.CreateFMul(a, b);
    case BinaryOp::div:
      return b_.CreateFDiv(a, b);
    case BinaryOp::min:
      return float_extreme(false, a, b);
    case BinaryOp::max:
      return float_extreme(true, a, b);
    case BinaryOp::ldexp:
      return scaled(a, b);
    default:
      GS_CHECK(false, ir::name_of(op), " of floats should have been lowered to arithmetic");
  }
}

llvm::Value* FunctionEmitter::int_binary(BinaryOp op, ir::Type type, llvm::Value* a, llvm::Value* b,
                                         const Expr& right) {
  const bool is_signed = ir::is_signed_int(type.dtype);
  const bool exact = type.dtype == DType::index;  // an index never overflows
  switch (op) {
    case BinaryOp::add:
      return b_.CreateAdd(a, b, "", false, exact);
    case BinaryOp::sub:
      return b_.CreateSub(a, b, "", false, exact);
    case BinaryOp::mul:
      return b_.CreateMul(a, b, "", false, exact);
    case BinaryOp::div:
    case BinaryOp::rem:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      return divide(op, type, a, b, right);
    case BinaryOp::min:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a,
                                      b);
    case BinaryOp::max:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a,
                                      b);
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return b_.CreateAnd(a, b);
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return b_.CreateOr(a, b);
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return b_.CreateXor(a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return shift(op, type, a, b, right);
    default:
      GS_CHECK(false, ir::name_of(op), " of integers should have been lowered to arithmetic");
  }
}

namespace {

// The number that every lane of an expression is.
std::optional<int64_t> known_number(const Expr& expr) {
  const auto* one = ir::as<ir::Broadcast>(expr);
  return ir::as_int(one ? one->a : expr);
}

}  // namespace

llvm::Value* FunctionEmitter::divide(BinaryOp op, ir::Type type, llvm::Value* a, llvm::Value* b,
                                     const Expr& right) {
  const bool is_signed = ir::is_signed_int(type.dtype);
  const bool whole = op == BinaryOp::div || op == BinaryOp::floordiv;
  const auto known = known_number(right);
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  if (known && *known == 0) return zero;
  const auto power = [&] { return static_cast<uint64_t>(__builtin_ctzll(*known)); };
  if (known && *known > 0 && (*known & (*known - 1)) == 0 &&
      (!is_signed || op == BinaryOp::floordiv || op == BinaryOp::floormod)) {
    if (!whole) return b_.CreateAnd(a, constant_int(type, *known - 1));
    return is_signed ? b_.CreateAShr(a, power()) : b_.CreateLShr(a, power());
  }
  // Divisors that would trap are replaced by 1, which gives what the smallest number divided by -1
  // wraps to, and 0 as a remainder.
  llvm::Value* divisor = b;
  llvm::Value* by_zero = nullptr;
  if (!known || *known == -1) {
    llvm::Constant* one = constant_int(type, 1);
    by_zero = b_.CreateICmpEQ(b, zero);
    llvm::Value* bad = by_zero;
    if (is_signed) {
      const unsigned bits = a->getType()->getScalarSizeInBits();
      llvm::Constant* smallest =
          llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(bits));
      bad = b_.CreateOr(bad, b_.CreateAnd(b_.CreateICmpEQ(a, smallest),
                                          b_.CreateICmpEQ(b, constant_int(type, -1))));
    }
    divisor = b_.CreateSelect(bad, one, b);
  }
  llvm::Value* result = nullptr;
  if (!is_signed) {
    result = whole ? b_.CreateUDiv(a, divisor) : b_.CreateURem(a, divisor);
  } else if (op == BinaryOp::div || op == BinaryOp::rem) {
    result = whole ? b_.CreateSDiv(a, divisor) : b_.CreateSRem(a, divisor);
  } else {
    // Rounding down differs from truncation where the remainder's sign is not the divisor's.
    llvm::Value* remainder = b_.CreateSRem(a, divisor);
    llvm::Value* sign = known ? (*known > 0 ? remainder : b_.CreateNeg(remainder))
                              : b_.CreateXor(remainder, divisor);
    llvm::Value* differs = b_.CreateICmpSLT(sign, zero);
    if (!known) differs = b_.CreateAnd(differs, b_.CreateICmpNE(remainder, zero));
    if (whole)
      result = b_.CreateAdd(b_.CreateSDiv(a, divisor), b_.CreateSExt(differs, a->getType()));
    else
      result = b_.CreateAdd(remainder, b_.CreateSelect(differs, divisor, zero));
  }
  return by_zero && whole ? b_.CreateSelect(by_zero, zero, result) : result;
}

llvm::Value* FunctionEmitter::shift(BinaryOp op, ir::Type type, llvm::Value* a, llvm::Value* b,
                                    const Expr& right) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  const bool arithmetic = op == BinaryOp::shr && ir::is_signed_int(type.dtype);
  const auto known = known_number(right);
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Constant* last = constant_int(type, bits - 1);
  llvm::Value* amount = b;
  llvm::Value* beyond = nullptr;
  if (!known || *known < 0 || *known >= bits) {
    beyond = b_.CreateICmpUGT(b, last);
    amount = b_.CreateSelect(beyond, last, b);
  }
  if (arithmetic) return b_.CreateAShr(a, amount);
  llvm::Value* result = op == BinaryOp::shl ? b_.CreateShl(a, amount) : b_.CreateLShr(a, amount);
  return beyond ? b_.CreateSelect(beyond, zero, result) : result;
}

llvm::Value* FunctionEmitter::widen_bfloat(llvm::Value* value, int lanes) {
  llvm::Value* wide = b_.CreateZExt(value, type_of({DType::u32, lanes}));
  return b_.CreateBitCast(b_.CreateShl(wide, 16), type_of({DType::f32, lanes}));
}

llvm::Value* FunctionEmitter::narrow_bfloat(llvm::Value* value, int lanes) {
  const ir::Type word(DType::u32, lanes);
  llvm::Value* bits = b_.CreateBitCast(value, type_of(word));
  llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), constant_int(word, 1));
  llvm::Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(odd, constant_int(word, 0x7fff)));
  llvm::Value* quiet = b_.CreateOr(bits, constant_int(word, 0x400000));
  rounded = b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, rounded);
  return b_.CreateTrunc(b_.CreateLShr(rounded, 16), type_of({DType::bf16, lanes}));
}

// LLVM takes the saturating conversions of vectors apart on x86.
llvm::Value* FunctionEmitter::saturated(llvm::Value* value, llvm::Type* type, bool is_signed) {
  const unsigned bits = type->getScalarSizeInBits();
  const llvm::APInt largest =
      is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  const int power = static_cast<int>(is_signed ? bits - 1 : bits);
  llvm::Value* low =
      llvm::ConstantFP::get(value->getType(), is_signed ? -std::ldexp(1.0, power) : 0.0);
  llvm::Value* beyond =
      b_.CreateFCmpOGE(value, llvm::ConstantFP::get(value->getType(), std::ldexp(1.0, power)));
  llvm::Value* inside = b_.CreateSelect(b_.CreateFCmpOGT(value, low), value, low);
  inside = b_.CreateSelect(beyond, low, inside);
  llvm::Value* result = is_signed ? b_.CreateFPToSI(inside, type) : b_.CreateFPToUI(inside, type);
  result = b_.CreateSelect(beyond, llvm::ConstantInt::get(type, largest), result);
  if (!is_signed) return result;
  return b_.CreateSelect(b_.CreateFCmpUNO(value, value), llvm::Constant::getNullValue(type),
                         result);
}

llvm::Value* FunctionEmitter::cast(llvm::Value* value, ir::Type from, ir::Type to) {
  if (from.dtype == to.dtype) return value;
  const ir::Type single(DType::f32, to.lanes);
  if (from.dtype == DType::bf16) return cast(widen_bfloat(value, to.lanes), single, to);
  if (to.dtype == DType::bf16) return narrow_bfloat(cast(value, from, single), to.lanes);
  llvm::Type* type = type_of(to);
  const bool from_float = ir::is_float(from.dtype), to_float = ir::is_float(to.dtype);
  llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
  if (to.dtype == DType::boolean)
    return from_float ? b_.CreateFCmpUNE(value, zero) : b_.CreateICmpNE(value, zero);
  if (from_float && to_float) {
    // Through f32, since there is no instruction between f64 and f16.
    const bool through = (from.dtype == DType::f64 && to.dtype == DType::f16) ||
                         (from.dtype == DType::f16 && to.dtype == DType::f64);
    if (through) value = b_.CreateFPCast(value, type_of(single));
    return b_.CreateFPCast(value, type);
  }
  if (from_float) {
    if (from.dtype == DType::f16) return cast(b_.CreateFPExt(value, type_of(single)), single, to);
    const bool is_signed = ir::is_signed_int(to.dtype);
    if (ir::byte_size(to.dtype) < 4) {
      // Clamped and converted as 32-bit vectors: LLVM takes saturating conversions to bytes apart.
      const int bits = 8 * ir::byte_size(to.dtype);
      const double least = is_signed ? -double(1 << (bits - 1)) : 0;
      llvm::Value* low = llvm::ConstantFP::get(value->getType(), least);
      llvm::Value* high = llvm::ConstantFP::get(value->getType(), least + double((1 << bits) - 1));
      llvm::Value* inside = b_.CreateSelect(b_.CreateFCmpOGT(value, low), value, low);
      inside = b_.CreateSelect(b_.CreateFCmpOLT(inside, high), inside, high);
      if (is_signed) inside = b_.CreateSelect(b_.CreateFCmpUNO(value, value), zero, inside);
      llvm::Type* wide = type_of(ir::Type(DType::i32, to.lanes));
      return b_.CreateTrunc(b_.CreateFPToSI(inside, wide), type);
    }
    if (type->isVectorTy() && target_.machine->getTargetTriple().isX86())
      return saturated(value, type, is_signed);
    return b_.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                              {type, value->getType()}, {value});
  }
  const bool is_signed = ir::is_signed_int(from.dtype);
  if (to.dtype == DType::f16) return b_.CreateFPTrunc(cast(value, from, single), type);
  if (to_float) return is_signed ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
  return b_.CreateIntCast(value, type, is_signed);
}

}  // namespace gossamer::codegen::llvm_
