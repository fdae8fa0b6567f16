#include "passes/legalize_types.h"

#include <limits>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"

namespace gossamer::passes {

using namespace ir;

namespace {

Expr word(const Expr& like, int64_t value) {
  return constant_int(like->type.with_dtype(DType::i32), value);
}
Expr bits_and(const Expr& a, int64_t mask) { return binary(BinaryOp::bit_and, a, word(a, mask)); }
Expr bits_or(const Expr& a, const Expr& b) { return binary(BinaryOp::bit_or, a, b); }
Expr left(const Expr& a, int bits) { return binary(BinaryOp::shl, a, word(a, bits)); }
Expr right(const Expr& a, int bits) { return binary(BinaryOp::shr, a, word(a, bits)); }
Expr as_single(const Expr& bits) { return bitcast(bits->type.with_dtype(DType::f32), bits); }
Expr as_word(const Expr& value) { return bitcast(value->type.with_dtype(DType::i32), value); }
Expr to_word(const Expr& bits) { return cast(bits->type.with_dtype(DType::i32), bits); }
Expr to_bits(const Expr& value) { return cast(value->type.with_dtype(DType::u16), value); }

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

Expr decode(DType dtype, const Expr& bits, bool converts) {
  if (dtype != DType::f16) return bfloat_to_single(bits);
  const Type single = bits->type.with_dtype(DType::f32), half = bits->type.with_dtype(dtype);
  return converts ? cast(single, bitcast(half, bits)) : half_to_single(bits);
}
Expr encode(DType dtype, const Expr& value, bool converts) {
  if (dtype != DType::f16) return single_to_bfloat(value);
  const Type half = value->type.with_dtype(dtype);
  return converts ? bitcast(half.with_dtype(DType::u16), cast(half, value)) : single_to_half(value);
}

}  // namespace

// The exponents differ by 112; multiplying by 2^112 moves it, and normalises denormals too.
Expr half_to_single(const Expr& bits) {
  const Expr h = to_word(bits);
  const Expr sign = left(bits_and(h, 0x8000), 16);
  const Expr magnitude = bits_and(h, 0x7fff);
  const Expr placed = left(magnitude, 13);
  const Expr finite =
      as_word(as_single(placed) * constant(h->type.with_dtype(DType::f32), 0x1p112));
  const Expr special = bits_or(placed, word(h, 0x7f800000));
  return as_single(bits_or(select(magnitude >= word(h, 0x7c00), special, finite), sign));
}

Expr single_to_half(const Expr& value) {
  const Expr b = as_word(value);
  const Expr sign = bits_and(right(b, 16), 0x8000);
  const Expr a = bits_and(b, 0x7fffffff);
  const Expr odd = bits_and(right(a, 13), 1);
  const Expr normal = right(a + odd + word(b, 0xfff - (112 << 23)), 13);
  // Adding 1/2 leaves the bits of a denormal at the end of the sum, rounded.
  const Expr half = constant(value->type, 0.5);
  const Expr denormal = as_word(as_single(a) + half) - word(b, 0x3f000000);
  Expr result = select(a < word(b, 0x38800000), denormal, normal);
  result = select(a >= word(b, 0x477ff000), word(b, 0x7c00), result);
  result = select(a > word(b, 0x7f800000), word(b, 0x7e00), result);
  return to_bits(bits_or(result, sign));
}

Expr rounded_to_half(const Expr& value) {
  const Expr b = as_word(value);
  const Expr sign = bits_and(b, int64_t{-0x80000000});
  const Expr a = bits_and(b, 0x7fffffff);
  const Expr odd = bits_and(right(a, 13), 1);
  const Expr normal = bits_and(a + odd + word(b, 0xfff), ~int64_t{0x1fff});
  // The sum's last bit is worth what that of a denormal half is.
  const Expr half = constant(value->type, 0.5);
  const Expr denormal = as_word(as_single(a) + half - half);
  Expr result = select(a < word(b, 0x38800000), denormal, normal);
  result = select(a >= word(b, 0x477ff000), word(b, 0x7f800000), result);
  result = select(a > word(b, 0x7f800000), word(b, 0x7fc00000), result);
  return as_single(bits_or(result, sign));
}

Expr bfloat_to_single(const Expr& bits) { return as_single(left(to_word(bits), 16)); }

Expr single_to_bfloat(const Expr& value) {
  const Expr b = as_word(value);
  const Expr high = bits_and(right(b, 16), 0xffff);
  const Expr rounded = bits_and(right(b + bits_and(high, 1) + word(b, 0x7fff), 16), 0xffff);
  const Expr is_nan = bits_and(b, 0x7fffffff) > word(b, 0x7f800000);
  return to_bits(select(is_nan, bits_or(high, word(b, 0x40)), rounded));
}

namespace {

class Legalizer {
 public:
  explicit Legalizer(bool converts) : converts_(converts) {
    rewriter_.expr = [this](const Expr& e) { return expr(e); };
    rewriter_.stmt = [this](const Stmt& s) { return stmt(s); };
  }

  Kernel run(const Kernel& kernel) {
    Kernel result = kernel;
    result.body = rewrite(kernel.body, rewriter_);
    for (auto& param : result.params) param.buffer = buffer_for(param.buffer);
    return result;
  }

 private:
  Buffer buffer_for(const Buffer& original) {
    const bool is_private = original->scope == Scope::priv || original->scope == Scope::group;
    DType dtype = is_private ? original->dtype : original->storage;
    if (is_half(dtype)) dtype = is_private ? DType::f32 : DType::u16;
    if (dtype == original->dtype && dtype == original->storage) return original;
    Buffer& made = buffers_[original.get()];
    if (made.get() == nullptr) {
      auto* node = new BufferNode(*original);
      node->dtype = node->storage = dtype;
      made = Buffer(node);
    }
    return made;
  }

  Var var_for(const Var& original) {
    Var& made = vars_[original.get()];
    if (made.get() == nullptr) made = var(original->name, original->type.with_dtype(DType::f32));
    return made;
  }

  Expr decoded(DType dtype, const Expr& bits) {
    Expr value = decode(dtype, bits, converts_);
    bits_of_.emplace(value.get(), Origin{value, bits, dtype});
    return value;
  }

  // The bits that `value` was decoded from, where it was; else its encoding.
  Expr encoded(DType dtype, const Expr& value) {
    auto found = bits_of_.find(value.get());
    if (found != bits_of_.end() && found->second.dtype == dtype) return found->second.bits;
    return encode(dtype, value, converts_);
  }

  Expr expr(const Expr& e) {
    const DType dtype = e->type.dtype;
    const Type single = e->type.with_dtype(DType::f32);
    if (auto* node = as<Load>(e)) {
      const Buffer buffer = buffer_for(node->buffer);
      if (buffer.same(node->buffer)) return {};
      const Expr loaded = load(buffer, node->indices);
      const DType value = node->type.dtype;
      if (node->buffer->scope == Scope::priv || node->buffer->scope == Scope::group) return loaded;
      if (is_half(node->buffer->storage)) {
        const Expr number = decoded(node->buffer->storage, loaded);
        return is_half(value) ? number : cast(node->type, number);
      }
      return cast(is_half(value) ? single : node->type, loaded);
    }
    if (auto* node = as<Bitcast>(e); node && byte_size(dtype) == 2) {
      // From or to the bits of a 16-bit float.
      const bool from_single = node->a->type.dtype == DType::f32;
      if (is_half(dtype)) return decoded(dtype, bitcast(e->type.with_dtype(DType::u16), node->a));
      if (from_single) return bitcast(e->type, encoded(DType::f16, node->a));
      return {};
    }
    if (!is_half(dtype)) {
      // Casts of what has become f32 may have become nothing.
      if (auto* node = as<Cast>(e); node && node->a->type == node->type) {
        const auto found = rounded_.find(node->a.get());
        return found == rounded_.end() ? node->a : found->second.rounded;
      }
      return {};
    }
    switch (e->kind) {
      case NodeKind::FloatImm:
        return constant(single, round_to(dtype, static_cast<const FloatImm&>(*e).value));
      case NodeKind::Var:
        return var_for(Var(static_cast<const VarNode*>(e.get())));
      case NodeKind::Unary:
        return unary(static_cast<const Unary&>(*e).op, static_cast<const Unary&>(*e).a);
      case NodeKind::Binary: {
        const auto& node = static_cast<const Binary&>(*e);
        return binary(node.op, node.a, node.b);
      }
      case NodeKind::Fma: {
        const auto& node = static_cast<const Fma&>(*e);
        return fma(node.a, node.b, node.c);
      }
      case NodeKind::Select: {
        const auto& node = static_cast<const Select&>(*e);
        return select(node.condition, node.yes, node.no);
      }
      case NodeKind::Cast: {
        const Expr value = cast(single, static_cast<const Cast&>(*e).a);
        const Expr number = decoded(dtype, encoded(dtype, value));
        // A float that is only rounded need not pass through the bits of a half.
        if (dtype == DType::f16 && !converts_ && !bits_of_.contains(value.get()))
          rounded_.emplace(number.get(), Rounding{number, rounded_to_half(value)});
        return number;
      }
      case NodeKind::Broadcast:
        return broadcast(static_cast<const Broadcast&>(*e).a, e->type.lanes);
      case NodeKind::Lane: {
        const auto& node = static_cast<const Lane&>(*e);
        return lane(node.a, node.lane);
      }
      case NodeKind::MakeVector:
        return make_vector(static_cast<const MakeVector&>(*e).lanes);
      default:
        break;
    }
    GS_CHECK(false, "16-bit float in ", name_of(e->kind));
  }

  Stmt stmt(const Stmt& s) {
    if (auto* node = as<Let>(s); node && is_half(node->var->type.dtype)) {
      return let(var_for(node->var), node->value, node->body);
    }
    if (auto* node = as<Alloc>(s)) {
      const Buffer buffer = buffer_for(node->buffer);
      return buffer.same(node->buffer) ? Stmt() : alloc(buffer, node->body);
    }
    if (auto* node = as<Store>(s)) {
      const Buffer buffer = buffer_for(node->buffer);
      if (buffer.same(node->buffer)) return {};
      Expr value = node->value;
      if (is_half(node->buffer->storage) && buffer->dtype == DType::u16) {
        const Type single = value->type.with_dtype(DType::f32);
        value = encoded(node->buffer->storage, cast(single, value));
      } else {
        value = cast(value->type.with_dtype(buffer->dtype), value);
      }
      return store(buffer, node->indices, value);
    }
    return {};
  }

  struct Origin {
    Expr value, bits;  // `value` is kept so that its address stays its own
    DType dtype;
  };
  struct Rounding {
    Expr number, rounded;  // `number` is kept so that its address stays its own
  };
  bool converts_;
  Rewriter rewriter_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::unordered_map<const VarNode*, Var> vars_;
  std::unordered_map<const ExprNode*, Origin> bits_of_;
  std::unordered_map<const ExprNode*, Rounding> rounded_;
};

}  // namespace

Result<Kernel> legalize_types(const Kernel& kernel) { return Legalizer(false).run(kernel); }
Result<Kernel> legalize_types_but_halves(const Kernel& kernel) {
  return Legalizer(true).run(kernel);
}

}  // namespace gossamer::passes
