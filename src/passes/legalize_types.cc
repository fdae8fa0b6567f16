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
#include "passes/number_codes.h"

namespace gossamer::passes {
namespace {

using namespace ir;

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
Type as_single(Type type) { return type.with_dtype(DType::f32); }
// What a small type's arithmetic is done in.
DType wide(DType small) { return is_float(small) ? DType::f32 : DType::i32; }

bool fits(DType from, DType to) {
  if (from == to) return true;
  if (!is_int(from) || from == DType::index) return false;
  const int have = byte_size(from), want = byte_size(to);
  return is_unsigned_int(from) ? have < want || (have == want && is_unsigned_int(to))
                               : is_signed_int(to) && have <= want;
}

// Whether a value cut from a word has the range of a narrow type already.
bool is_cut_to(const Expr& value, DType narrow) {
  const auto* cut = as<Binary>(value);
  const int bits = 8 * byte_size(narrow);
  if (!cut) return false;
  const auto* splat = as<Broadcast>(cut->b);
  const auto by = as_int(splat ? splat->a : cut->b);
  if (!by) return false;
  return is_unsigned_int(narrow)
             ? cut->op == BinaryOp::bit_and && *by >= 0 && *by < int64_t{1} << bits
             : cut->op == BinaryOp::shr && *by >= 32 - bits && cut->type.dtype == DType::i32;
}

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
  explicit Legalizer(const TypeRules& rules) : rules_(rules) {
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
  // --- Types
  DType computed(DType dtype) const { return rules_.of(dtype).computed; }
  Type computed(Type type) const { return rules_.computed(type); }
  bool changes(DType dtype) const { return computed(dtype) != dtype; }
  bool changes(const Expr& e) const { return changes(e->type.dtype); }
  // An integer in a wider word, in whose range operations keep it.
  bool is_narrow(DType dtype) const {
    return rules_.words && is_int(dtype) && dtype != DType::index && byte_size(dtype) < 4;
  }
  Expr wrapped(DType narrow, const Expr& value) const {
    if (!is_narrow(narrow)) return value;
    const Type type = value->type;
    const int bits = 8 * byte_size(narrow);
    if (is_unsigned_int(narrow)) {
      return binary(BinaryOp::bit_and, value, constant_int(type, (1 << bits) - 1));
    }
    const Expr count = constant_int(type, 32 - bits);
    return binary(BinaryOp::shr, binary(BinaryOp::shl, value, count), count);
  }

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
    if (is_small(value)) return trimmed(value, Expr(made), node.buffer->scope == Scope::global);
    if (!holds_bits(*node.buffer)) return cast(computed(node.type), Expr(made));
    return cast(computed(node.type), number(node.buffer->storage, Expr(made)));
  }

  // --- 16-bit floats: numbers and their bits
  Expr number(DType half, const Expr& bits) {
    Expr value = bfloat_or_half(half, bits);
    bits_of_.emplace(value.get(), Origin{value, bits, half});
    return value;
  }
  Expr bfloat_or_half(DType half, const Expr& bits) const {
    if (half == DType::bf16) return bfloat_to_single(bits);
    if (!rules_.converts_halves) return half_to_single(bits, rules_.words);
    return cast(as_single(bits->type), bitcast(bits->type.with_dtype(half), bits));
  }
  // The bits that `value` was made of, where it was; else its encoding.
  Expr bits(DType half, const Expr& value) {
    auto found = bits_of_.find(value.get());
    if (found != bits_of_.end() && found->second.half == half) return found->second.bits;
    const Type type = value->type.with_dtype(computed(DType::u16));
    if (half == DType::bf16) return cast(type, single_to_bfloat(value));
    if (!rules_.converts_halves) return cast(type, single_to_half(value));
    return bitcast(type, cast(value->type.with_dtype(half), value));
  }
  Expr rounded(DType half, const Expr& value) {
    if (rules_.words) return value;  // where it is stored, if at all
    const Expr made = number(half, bits(half, value));
    // A float that is only rounded need not pass through the bits of a half.
    if (half == DType::f16 && !rules_.converts_halves && !bits_of_.contains(value.get()))
      rounded_.emplace(made.get(), Rounding{made, rounded_to_half(value)});
    return made;
  }

  // --- Small types: codes
  Expr code(DType small, const Expr& value) const {
    return cast(computed(value->type.with_dtype(small)), encode_small(small, value));
  }
  // Of codes that came from elsewhere only the type's own bits count.
  Expr trimmed(DType small, const Expr& code, bool from_elsewhere) const {
    const Expr held = cast(computed(code->type.with_dtype(small)), code);
    if (bit_width(small) == 8 || !from_elsewhere) return held;
    return cast(held->type, trim_small(small, held));
  }

  // --- Expressions
  // An operand as arithmetic takes it.
  Expr value(const Expr& e) {
    const DType dtype = e->type.dtype;
    return is_small(dtype) ? decode_small(dtype, rewritten(e)) : rewritten(e);
  }
  // What arithmetic gives, as a value of its type.
  Expr result(DType dtype, const Expr& made, bool leaves) const {
    if (is_small(dtype)) return code(dtype, made);
    return leaves ? wrapped(dtype, made) : made;
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
    if (auto* node = as<Dot>(e)) return rules_.words ? rewritten(dot_by_terms(*node)) : Expr();
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
    const Expr a = value(node.a);
    const Type target = computed(node.type);
    if (is_small(to)) return code(to, number_of_small(to, from, a));
    if (is_small(from)) {
      if (to == DType::boolean) return a != 0;
      return legal_cast(wide(from), to, a, a);
    }
    if (is_half(to)) return rounded(to, cast(as_single(target), a));
    if (rules_.words) return legal_cast(from, to, a, node.a);
    // Casts of what has become f32 may have become nothing.
    if (a->type != target) return cast(target, a);
    const auto found = rounded_.find(a.get());
    return found == rounded_.end() ? a : found->second.rounded;
  }
  // `a` of type `from` as `to`; `old` is what it was.
  Expr legal_cast(DType from, DType to, const Expr& a, const Expr& old) {
    if (is_half(to)) return rounded(to, cast(as_single(a->type), a));
    const Expr made = cast(computed(a->type.with_dtype(to)), a);
    if (!is_narrow(to) || from == DType::boolean) return made;
    if (!is_float(from)) return fits(from, to) || is_cut_to(old, to) ? made : wrapped(to, made);
    const int bits = 8 * byte_size(to) - (is_signed_int(to) ? 1 : 0);
    const int64_t high = (int64_t{1} << bits) - 1, low = is_signed_int(to) ? -high - 1 : 0;
    return min(max(made, constant_int(made->type, low)), constant_int(made->type, high));
  }
  // What is rounded to a small type: of f32 or i32.
  Expr number_of_small(DType small, DType from, Expr a) const {
    const Type single = as_single(a->type), word = a->type.with_dtype(DType::i32);
    if (is_float(small)) {
      if (a->type.dtype == DType::f64 && small != DType::f8e8m0) a = narrowed_to_odd(a);
      return cast(single, a);
    }
    if (is_float(from)) {
      a = min(max(cast(word, a), cast(word, lowest(Type(small, word.lanes)))),
              cast(word, highest(Type(small, word.lanes))));
    }
    return cast(word, a);
  }

  Expr legal(const Bitcast& node) {
    // A small type's bits are those of the byte that holds it.
    const DType from = carrier_of(node.a->type.dtype), to = carrier_of(node.type.dtype);
    const Expr a = rewritten(node.a);
    const Expr made = same_bits(from, to, a, node);
    return is_small(node.type.dtype) ? trimmed(node.type.dtype, made, true) : made;
  }
  Expr same_bits(DType from, DType to, const Expr& a, const Bitcast& node) {
    const Type type = computed(node.type.with_dtype(to));
    const bool same_lanes = node.a->type.lanes == node.type.lanes;
    if (same_lanes && is_half(to) && byte_size(from) == 2) {
      return number(to, rules_.words ? a : bitcast(node.type.with_dtype(DType::u16), a));
    }
    if (same_lanes && is_half(from) && byte_size(to) == 2) {
      const Expr word = bits(from, a);
      return rules_.words ? cast(type, word) : bitcast(type, word);
    }
    if (!rules_.words) return bitcast(type, a);
    if (same_lanes && byte_size(from) == 4) return bitcast(type, a);
    // A boolean is the byte 0 or 1.
    auto is_integral = [](DType t) { return is_int(t) || t == DType::boolean; };
    if (same_lanes && is_integral(from) && is_integral(to)) return wrapped(to, cast(type, a));
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
      value = bits(half, cast(as_single(value->type), value));
    } else {
      value = cast(value->type.with_dtype(to->dtype), value);
      if (is_half(half) && to->storage == DType::f32 && !is_own(*to))
        value = as_stored(half, value);
    }
    return store(to, rewritten(node->indices), value);
  }
  // What memory of 16 bits would hold of it.
  Expr as_stored(DType half, const Expr& value) const {
    const bool is_exact = as<Load>(value) || bits_of_.contains(value.get());
    if (is_exact || as_float(value)) return value;
    return half == DType::f16 ? rounded_to_half(value) : bfloat_to_single(single_to_bfloat(value));
  }

  // Their keys are addresses, which their nodes keep from being used again.
  struct Origin {
    Expr value, bits;
    DType half;
  };
  struct Rounding {
    Expr number, rounded;
  };
  const TypeRules rules_;
  std::optional<Diagnostic> error_;
  Rewriter rewriter_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::unordered_map<const VarNode*, Var> vars_;
  std::unordered_map<const ExprNode*, Origin> bits_of_;
  std::unordered_map<const ExprNode*, Rounding> rounded_;
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> memo_;
};

}  // namespace

Result<Kernel> legalize_types(const Kernel& kernel, const TypeRules& rules) {
  return Legalizer(rules).run(kernel);
}

}  // namespace gossamer::passes
