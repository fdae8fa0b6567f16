#include "passes/legalize_types.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "ir/small_float.h"
#include "passes/conversions.h"
#include "passes/number_codes.h"

namespace gossamer::passes {
namespace {

using namespace ir;

// The number of 32 bits nearest to a constant of 64.
int64_t nearest_word(const IntImm& imm) {
  if (imm.type.dtype == DType::u64) {
    return static_cast<int64_t>(std::min<uint64_t>(static_cast<uint64_t>(imm.value), 0xffffffffu));
  }
  return std::clamp<int64_t>(imm.value, std::numeric_limits<int32_t>::min(),
                             std::numeric_limits<int32_t>::max());
}

// The ends of a type stand for "no bound": where they start a minimum, the word's ends do as well.
bool is_bound(const IntImm& imm) {
  if (imm.type.dtype == DType::u64) return imm.value == -1;
  return imm.value == std::numeric_limits<int64_t>::min() ||
         imm.value == std::numeric_limits<int64_t>::max();
}

bool leaves_range(UnaryOp op) {
  return op == UnaryOp::neg || op == UnaryOp::bit_not || op == UnaryOp::abs;
}
bool leaves_range(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul || op == BinaryOp::div ||
         op == BinaryOp::floordiv || op == BinaryOp::shl;
}

class Legalizer {
 public:
  explicit Legalizer(const TypeRules& rules) : rules_(rules), conversions_(rules) {
    rewriter_.expr_before = [this](const Expr& e) { return legal(e); };
    rewriter_.stmt_before = [this](const Stmt& s) { return legal(s); };
  }

  Result<Kernel> run(const Kernel& kernel) {
    Kernel result = kernel;
    for (Kernel::Param& param : result.params) param.buffer = legal(param.buffer);
    result.body = rewritten(kernel.body);
    if (error_) return std::unexpected(*error_);
    return result;
  }

 private:
  Type computed(Type type) const { return rules_.computed(type); }
  bool changes(DType dtype) const { return conversions_.changes(dtype); }
  bool changes(const Expr& e) const { return changes(e->type.dtype); }

  Expr refused(std::string message, Type type) {
    if (!error_) error_ = Diagnostic{{}, std::move(message), "run this model on cpu or wasm"};
    return zero(type);
  }

  // --- Memory
  static bool is_own(const BufferNode& buffer) {
    return buffer.scope == Scope::priv || buffer.scope == Scope::group;
  }
  DType stored(const BufferNode& buffer) const {
    // Memory of kernels alone holds floats as they are computed.
    if (!is_own(buffer)) return rules_.of(buffer.storage).stored;
    const TypeRule rule = rules_.of(buffer.dtype);
    return is_float(buffer.dtype) ? rule.computed : rule.stored;
  }
  Buffer legal(const Buffer& old) {
    if (rules_.words && old->dtype == DType::string)
      refused(cat("tensor ", old->name, " holds strings"), {});
    // f16 in memory of words is loaded and stored as f32.
    const DType storage = stored(*old), dtype = storage == DType::f16 ? DType::f32 : storage;
    if (dtype == old->dtype && storage == old->storage) return old;
    Buffer& made = buffers_[old.get()];
    if (!made) {
      auto* node = new BufferNode(*old);
      node->dtype = dtype;
      node->storage = storage;
      made = Buffer(node);
    }
    return made;
  }
  // Whether memory holds the bits of a float that registers hold as a number.
  bool holds_bits(const BufferNode& old) const {
    return is_half(old.storage) && stored(old) == DType::u16;
  }

  Expr read(const Load& node, const Buffer& from) {
    auto* made = new Load(Type(from->dtype, node.type.lanes));  // a texel's lanes are its own
    made->buffer = from;
    made->indices = rewritten(node.indices);
    const DType value = node.type.dtype;
    if (is_small(value) && node.buffer->scope == Scope::global)
      return conversions_.trimmed(value, Expr(made));
    const Expr loaded = holds_bits(*node.buffer)
                            ? conversions_.number(node.buffer->storage, Expr(made))
                            : Expr(made);
    return cast(computed(node.type), loaded);
  }

  // --- Expressions
  // An operand as arithmetic takes it.
  Expr value(const Expr& e) {
    const DType dtype = e->type.dtype;
    return is_small(dtype) ? decode_small(dtype, rewritten(e)) : rewritten(e);
  }
  // What arithmetic gives, as a value of its type.
  Expr result(DType dtype, const Expr& made, bool leaves) const {
    if (is_small(dtype)) return conversions_.code(dtype, made);
    return leaves ? conversions_.wrapped(dtype, made) : made;
  }

  Expr rewritten(const Expr& e) {
    if (auto known = memo_.find(e.get()); known != memo_.end()) return known->second.second;
    Expr made = rewrite(e, rewriter_);
    memo_.emplace(e.get(), std::pair(e, made));
    return made;
  }
  Stmt rewritten(const Stmt& s) { return rewrite(s, rewriter_); }
  std::vector<Expr> rewritten(const std::vector<Expr>& all) {
    std::vector<Expr> made;
    for (const Expr& e : all) made.push_back(rewritten(e));
    return made;
  }

  // What stands for a node that is of a type that changes, or takes one; null for all others.
  Expr legal(const Expr& e) {
    if (auto known = memo_.find(e.get()); known != memo_.end()) return known->second.second;
    Expr made = replacement(e);
    if (made) memo_.emplace(e.get(), std::pair(e, made));
    return made;
  }

  Expr replacement(const Expr& e) {
    if (auto* node = as<Load>(e)) {
      const Buffer from = legal(node->buffer);
      return from.same(node->buffer) ? Expr() : read(*node, from);
    }
    if (auto* node = as<Cast>(e)) return legal(*node);
    if (auto* node = as<Unary>(e)) return legal(*node);
    if (auto* node = as<Binary>(e)) return legal(*node);
    if (auto* node = as<Bitcast>(e)) return changes(e) || changes(node->a) ? legal(*node) : Expr();
    if (auto* node = as<Fma>(e)) return legal(*node);
    if (auto* node = as<Dot>(e)) return rules_.words ? legal(*node) : Expr();
    if (!changes(e)) return {};
    const DType dtype = e->type.dtype;
    switch (e->kind) {
      case NodeKind::Var:
        return legal(Var(static_cast<const VarNode*>(e.get())));
      case NodeKind::IntImm:
        return legal(static_cast<const IntImm&>(*e));
      case NodeKind::FloatImm: {
        const double number = static_cast<const FloatImm&>(*e).value;
        if (is_small(dtype)) return constant_int(computed(e->type), to_small(dtype, number));
        return constant(computed(e->type), round_to(dtype, number));
      }
      case NodeKind::Select: {
        const auto& node = static_cast<const Select&>(*e);
        return select(rewritten(node.condition), rewritten(node.yes), rewritten(node.no));
      }
      case NodeKind::Broadcast:
        return broadcast(rewritten(static_cast<const Broadcast&>(*e).a), e->type.lanes);
      case NodeKind::Lane: {
        const auto& node = static_cast<const Lane&>(*e);
        return lane(rewritten(node.a), rewritten(node.lane));
      }
      case NodeKind::MakeVector:
        return make_vector(rewritten(static_cast<const MakeVector&>(*e).lanes));
      default:
        break;
    }
    GS_CHECK(false, name_of(dtype), " in ", name_of(e->kind));
  }

  Var legal(const Var& old) {
    if (!changes(old->type.dtype)) return old;
    Var& made = vars_[old.get()];
    if (!made.get()) made = var(old->name, computed(old->type));
    return made;
  }

  Expr legal(const IntImm& imm) {
    const Type type = computed(imm.type);
    const bool is_long = imm.type.dtype == DType::i64 || imm.type.dtype == DType::u64;
    const int64_t value = is_long ? nearest_word(imm) : imm.value;
    if (value == imm.value || is_bound(imm)) return constant_int(type, value);
    const bool is_unsigned = imm.type.dtype == DType::u64;
    return refused(
        cat("the constant ",
            is_unsigned ? cat(static_cast<uint64_t>(imm.value)) : std::to_string(imm.value),
            " does not fit the 32 bits of this target's integers"),
        type);
  }

  Expr legal(const Unary& node) {
    const Type from = node.a->type;
    const bool words = rules_.words && is_int(from.dtype) && !is_small(from.dtype);
    if (!words) {
      if (!changes(node.a)) return {};
      return result(node.type.dtype, unary(node.op, value(node.a)), false);
    }
    const Expr a = rewritten(node.a);
    switch (node.op) {
      case UnaryOp::neg:
      case UnaryOp::bit_not:
        break;
      case UnaryOp::abs:
        if (is_unsigned_int(from.dtype)) return a;
        break;
      case UnaryOp::floor:
      case UnaryOp::ceil:
      case UnaryOp::round:
      case UnaryOp::trunc:
        return a;
      case UnaryOp::is_nan:
      case UnaryOp::is_inf:
        return broadcast(boolean(false), from.lanes);
      default:
        return refused(cat(name_of(node.op), " of ", to_string(from)), computed(from));
    }
    const Expr made = node.op == UnaryOp::neg && a->type.dtype == DType::u32
                          ? binary(BinaryOp::sub, zero(a->type), a)
                          : unary(node.op, a);
    return result(from.dtype, made, leaves_range(node.op));
  }

  // A bound that no value of 32 bits reaches is as good as the last one.
  Expr bound(const Expr& e) {
    auto* imm = as<IntImm>(e);
    return imm ? constant_int(computed(e->type), nearest_word(*imm)) : rewritten(e);
  }
  Expr legal(const Binary& node) {
    if (!changes(node.a) && !changes(node.type.dtype)) return {};
    const DType dtype = node.type.dtype;
    const bool is_long = dtype == DType::i64 || dtype == DType::u64;
    if (is_long && (node.op == BinaryOp::min || node.op == BinaryOp::max))
      return binary(node.op, bound(node.a), bound(node.b));
    return result(dtype, binary(node.op, value(node.a), value(node.b)), leaves_range(node.op));
  }

  Expr legal(const Dot& node) {
    const bool both_signed = node.a->type == node.type && node.b->type == node.type;
    if (!rules_.sums_bytes || node.terms != 4 || !both_signed) return rewritten(dot_by_terms(node));
    const Expr a = rewritten(node.a), b = rewritten(node.b), c = rewritten(node.c);
    std::vector<Expr> sums;
    for (int i = 0; i < node.type.lanes; ++i) {
      const auto part = [&](const Expr& e) { return lane(e, index(i)); };
      sums.push_back(dot(part(a), part(b), part(c), node.terms));
    }
    return make_vector(std::move(sums));
  }

  Expr legal(const Fma& node) {
    const DType dtype = node.type.dtype;
    const bool apart = rules_.words && is_int(dtype);  // only floats have it there
    if (!changes(dtype) && !apart) return {};
    const Expr a = value(node.a), b = value(node.b), c = value(node.c);
    return result(dtype, apart ? a * b + c : fma(a, b, c), true);
  }

  Expr legal(const Cast& node) {
    const DType from = node.a->type.dtype, to = node.type.dtype;
    if (!changes(from) && !changes(to)) {
      // Of an index that unrolling made a constant.
      return rules_.words ? cast(node.type, rewritten(node.a)) : Expr();
    }
    return conversions_.converted(from, to, value(node.a), node.a);
  }

  Expr legal(const Bitcast& node) {
    // A small type's bits are those of the byte that holds it.
    const DType from = carrier_of(node.a->type.dtype), to = carrier_of(node.type.dtype);
    const Expr a = rewritten(node.a);
    const Expr made = same_bits(from, to, a, node);
    return is_small(node.type.dtype) ? conversions_.trimmed(node.type.dtype, made) : made;
  }
  Expr same_bits(DType from, DType to, const Expr& a, const Bitcast& node) {
    const Type type = computed(node.type.with_dtype(to));
    const bool same_lanes = node.a->type.lanes == node.type.lanes;
    if (same_lanes && is_half(to) && byte_size(from) == 2) {
      return conversions_.number(to,
                                 rules_.words ? a : bitcast(node.type.with_dtype(DType::u16), a));
    }
    if (same_lanes && is_half(from) && byte_size(to) == 2) {
      const Expr word = conversions_.bits(from, a);
      return rules_.words ? cast(type, word) : bitcast(type, word);
    }
    if (!rules_.words) return bitcast(type, a);
    if (same_lanes && byte_size(from) == 4) return bitcast(type, a);
    // A boolean is the byte 0 or 1.
    auto is_integral = [](DType t) { return is_int(t) || t == DType::boolean; };
    if (same_lanes && is_integral(from) && is_integral(to))
      return conversions_.wrapped(to, cast(type, a));
    return refused(cat("bit cast from ", to_string(node.a->type), " to ", to_string(node.type)),
                   type);
  }

  // --- Statements
  Stmt legal(const Stmt& s) {
    if (auto* node = as<Let>(s)) {
      const Var made = legal(node->var);
      return made.same(node->var) ? Stmt()
                                  : let(made, rewritten(node->value), rewritten(node->body));
    }
    if (auto* node = as<Alloc>(s)) {
      const Buffer made = legal(node->buffer);
      return made.same(node->buffer) ? Stmt() : alloc(made, rewritten(node->body));
    }
    auto* node = as<Store>(s);
    if (!node) return {};
    const Buffer to = legal(node->buffer);
    if (to.same(node->buffer)) return {};
    Expr value = rewritten(node->value);
    const DType half = node->buffer->storage;
    if (holds_bits(*node->buffer)) {
      value = conversions_.bits(half, cast(value->type.with_dtype(DType::f32), value));
    } else {
      value = cast(value->type.with_dtype(to->dtype), value);
      if (is_half(half) && to->storage == DType::f32 && !is_own(*to))
        value = conversions_.as_stored(half, value);
    }
    return store(to, rewritten(node->indices), value);
  }

  const TypeRules rules_;
  Conversions conversions_;
  std::optional<Diagnostic> error_;
  Rewriter rewriter_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::unordered_map<const VarNode*, Var> vars_;
  // The key is kept alive beside its replacement, so that no address is used twice.
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> memo_;
};

}  // namespace

Result<Kernel> legalize_types(const Kernel& kernel, const TypeRules& rules) {
  return Legalizer(rules).run(kernel);
}

}  // namespace gossamer::passes
