#include "codegen/text/legalize_gpu_types.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/build.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

DType legal(DType type) {
  if (type == DType::boolean || type == DType::index) return type;
  return gpu_storage_of(type);
}
Type legal(Type type) { return type.with_dtype(legal(type.dtype)); }

bool is_narrow(DType type) { return is_int(type) && type != DType::index && byte_size(type) < 4; }

bool fits(DType from, DType to) {
  if (from == to) return true;
  if (!is_int(from) || from == DType::index) return false;
  const int have = byte_size(from), want = byte_size(to);
  return is_unsigned_int(from) ? have < want || (have == want && is_unsigned_int(to))
                               : is_signed_int(to) && have <= want;
}

// Back into the range of a narrow integer type, for a value of its legal type.
Expr wrap(DType narrow, Expr value) {
  if (!is_narrow(narrow)) return value;
  const Type type = value->type;
  const int bits = 8 * byte_size(narrow);
  if (is_unsigned_int(narrow)) {
    return binary(BinaryOp::bit_and, value, constant_int(type, (1 << bits) - 1));
  }
  const Expr count = constant_int(type, 32 - bits);
  return binary(BinaryOp::shr, binary(BinaryOp::shl, value, count), count);
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

// The number that 16 bits mean, without f32's denormals, which some GPUs take for zeros.
Expr number_of_half(DType half, const Expr& bits) {
  const Type word = bits->type, single = word.with_dtype(DType::f32);
  const auto shifted = [&](const Expr& e, int by) {
    return binary(BinaryOp::shl, e, constant_int(word, by));
  };
  if (half == DType::bf16) return bitcast(single, shifted(bits, 16));
  const auto part = [&](int64_t mask) {
    return binary(BinaryOp::bit_and, bits, constant_int(word, mask));
  };
  const Expr magnitude = part(0x7fff), sign = shifted(part(0x8000), 16);
  const Expr placed = shifted(magnitude, 13);
  const Expr denormal = bitcast(word, cast(single, magnitude) * constant(single, 0x1p-24));
  const Expr normal = placed + constant_int(word, 112 << 23);
  const Expr special = binary(BinaryOp::bit_or, placed, constant_int(word, 0x7f800000));
  const Expr value = select(magnitude >= constant_int(word, 0x7c00), special,
                            select(magnitude < constant_int(word, 0x400), denormal, normal));
  return bitcast(single, binary(BinaryOp::bit_or, value, sign));
}

// The inverse, rounded to nearest even.
Expr bits_of_half(DType half, const Expr& number) {
  const Type single = number->type, word = single.with_dtype(DType::u32);
  const auto constant_of = [&](int64_t value) { return constant_int(word, value); };
  const auto shifted = [&](const Expr& e, int by) {
    return binary(BinaryOp::shr, e, constant_of(by));
  };
  const Expr bits = bitcast(word, number);
  const Expr size = binary(BinaryOp::bit_and, bits, constant_of(0x7fffffff));
  const auto rounded = [&](const Expr& e, int by) {
    const Expr odd = binary(BinaryOp::bit_and, shifted(e, by), constant_of(1));
    return shifted(e + constant_of((1 << (by - 1)) - 1) + odd, by);
  };
  if (half == DType::bf16)
    return select(size > constant_of(0x7f800000),
                  binary(BinaryOp::bit_or, shifted(bits, 16), constant_of(0x40)),
                  rounded(bits, 16));
  // Below the smallest normal half, the sum with 0.5 is rounded at 2^-24.
  const Expr sum = unary(UnaryOp::abs, number) + constant(single, 0.5);
  const Expr denormal = bitcast(word, sum) - constant_of(0x3f000000);
  const Expr normal = rounded(size - constant_of(112 << 23), 13);
  const Expr special = select(size > constant_of(0x7f800000), constant_of(0x7e00),
                              constant_of(0x7c00));  // 65520 and more
  const Expr value = select(size >= constant_of(0x477ff000), special,
                            select(size < constant_of(113 << 23), denormal, normal));
  const Expr sign = binary(BinaryOp::bit_and, shifted(bits, 16), constant_of(0x8000));
  return binary(BinaryOp::bit_or, value, sign);
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
  explicit Legalizer(bool f16) : f16_(f16) {}

  Result<Kernel> run(const Kernel& kernel) {
    Kernel result = kernel;
    for (Kernel::Param& param : result.params) param.buffer = buffer(param.buffer);
    result.body = stmt(kernel.body);
    if (error_) return std::unexpected(*error_);
    return result;
  }

 private:
  Expr refuse(std::string message, Type type) {
    if (!error_) error_ = Diagnostic{{}, std::move(message), "run this model on cpu or wasm"};
    return zero(type);
  }

  Buffer buffer(const Buffer& old) {
    Buffer& made = buffers_[old.get()];
    if (!made) {
      if (old->dtype == DType::string) refuse(cat("tensor ", old->name, " holds strings"), {});
      auto* node = new BufferNode(*old);
      node->dtype = node->storage =
          old->dtype == DType::string ? DType::i32 : gpu_storage_of(old->dtype);
      // Memory of kernels alone stays as they compute.
      if (old->scope == Scope::global && old->dtype == DType::f16)
        node->storage = gpu_storage_of(old->dtype, f16_);
      made = Buffer(node);
    }
    return made;
  }

  Var var(const Var& old) {
    const Type type = legal(old->type);
    if (type == old->type) return old;
    Var& made = vars_[old.get()];
    if (!made.get()) made = ir::var(old->name, type);
    return made;
  }

  Expr expr(const Expr& old) {
    if (auto found = memo_.find(old.get()); found != memo_.end()) return found->second.second;
    Expr made = dispatch(*old, [&](const auto& node) { return visit(node, old); });
    memo_.emplace(old.get(), std::pair(old, made));
    return made;
  }
  std::vector<Expr> exprs(const std::vector<Expr>& old) {
    std::vector<Expr> made;
    for (const Expr& e : old) made.push_back(expr(e));
    return made;
  }

  Expr visit(const VarNode&, const Expr& old) {
    return var(Var(static_cast<const VarNode*>(old.get())));
  }
  Expr visit(const IntImm& imm, const Expr& old) {
    const Type type = legal(imm.type);
    if (type == imm.type) return old;
    const bool wide = imm.type.dtype == DType::i64 || imm.type.dtype == DType::u64;
    const int64_t value = wide ? nearest_word(imm) : imm.value;
    if (value != imm.value && !is_bound(imm)) {
      return refuse(
          cat("the constant ",
              imm.type.dtype == DType::u64 ? cat(static_cast<uint64_t>(imm.value)) : cat(imm.value),
              " does not fit the 32 bits of this target's integers"),
          type);
    }
    return constant_int(type, value);
  }
  Expr visit(const FloatImm& imm, const Expr& old) {
    return imm.type.dtype == DType::f32 ? old : constant(legal(imm.type), imm.value);
  }
  Expr visit(const Unary& node, const Expr&) {
    const Type from = node.a->type;
    const Expr a = expr(node.a);
    if (is_float(from.dtype) || from.dtype == DType::boolean) return unary(node.op, a);
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
        return refuse(cat(name_of(node.op), " of ", to_string(from)), legal(from));
    }
    const Expr made = node.op == UnaryOp::neg && legal(from).dtype == DType::u32
                          ? binary(BinaryOp::sub, zero(a->type), a)
                          : unary(node.op, a);
    return leaves_range(node.op) ? wrap(from.dtype, made) : made;
  }
  // A bound that no value of 32 bits reaches is as good as the last one.
  Expr bound(const Expr& e) {
    if (auto* imm = as<IntImm>(e); imm && imm->type.dtype != DType::index) {
      return constant_int(legal(imm->type), nearest_word(*imm));
    }
    return expr(e);
  }
  Expr visit(const Binary& node, const Expr&) {
    const bool wide = node.type.dtype == DType::i64 || node.type.dtype == DType::u64;
    const bool bounds = wide && (node.op == BinaryOp::min || node.op == BinaryOp::max);
    const Expr made = bounds ? binary(node.op, bound(node.a), bound(node.b))
                             : binary(node.op, expr(node.a), expr(node.b));
    return leaves_range(node.op) ? wrap(node.type.dtype, made) : made;
  }
  Expr visit(const Fma& node, const Expr&) {
    const Expr a = expr(node.a), b = expr(node.b), c = expr(node.c);
    return is_float(a->type.dtype) ? fma(a, b, c) : wrap(node.type.dtype, a * b + c);
  }
  Expr visit(const Dot& node, const Expr&) { return expr(dot_by_terms(node)); }
  Expr visit(const Select& node, const Expr&) {
    return select(expr(node.condition), expr(node.yes), expr(node.no));
  }
  Expr visit(const Cast& node, const Expr&) {
    const DType from = node.a->type.dtype, to = node.type.dtype;
    Expr made = cast(legal(node.type), expr(node.a));
    if (!is_narrow(to) || from == DType::boolean) return made;
    if (!is_float(from)) return fits(from, to) || is_cut_to(node.a, to) ? made : wrap(to, made);
    const int bits = 8 * byte_size(to) - (is_signed_int(to) ? 1 : 0);
    const int64_t high = (int64_t{1} << bits) - 1, low = is_signed_int(to) ? -high - 1 : 0;
    return min(max(made, constant_int(made->type, low)), constant_int(made->type, high));
  }
  Expr visit(const Bitcast& node, const Expr&) {
    const DType from = node.a->type.dtype, to = node.type.dtype;
    const Expr a = expr(node.a);
    const bool same_lanes = node.a->type.lanes == node.type.lanes;
    if (same_lanes && byte_size(from) == 4) return bitcast(legal(node.type), a);
    if (same_lanes && from == DType::u16 && (to == DType::f16 || to == DType::bf16))
      return number_of_half(to, a);
    if (same_lanes && to == DType::u16 && (from == DType::f16 || from == DType::bf16)) {
      const Expr bits = bits_of_half(from, a);
      return cast(legal(node.type), bits);
    }
    // A boolean is the byte 0 or 1.
    auto is_integral = [](DType t) { return is_int(t) || t == DType::boolean; };
    if (same_lanes && is_integral(from) && is_integral(to)) {
      return wrap(to, cast(legal(node.type), a));
    }
    return refuse(cat("bit cast from ", to_string(node.a->type), " to ", to_string(node.type)),
                  legal(node.type));
  }
  Expr visit(const Load& node, const Expr&) {
    const Buffer from = buffer(node.buffer);
    auto* made = new Load(Type(from->dtype, node.type.lanes));
    made->buffer = from;
    made->indices = exprs(node.indices);
    return cast(legal(node.type), Expr(made));
  }
  Expr visit(const Ramp& node, const Expr&) {
    return ramp(expr(node.base), node.stride, node.type.lanes);
  }
  Expr visit(const Broadcast& node, const Expr&) {
    return broadcast(expr(node.a), node.type.lanes);
  }
  Expr visit(const Lane& node, const Expr&) { return lane(expr(node.a), expr(node.lane)); }
  Expr visit(const MakeVector& node, const Expr&) { return make_vector(exprs(node.lanes)); }
  template <class Statement>
    requires std::is_base_of_v<StmtNode, Statement>
  Expr visit(const Statement&, const Expr&) {
    check_failed(__FILE_NAME__, __LINE__, "an expression", "");
  }

  Stmt stmt(const Stmt& old) {
    if (auto* node = as<Block>(old)) {
      std::vector<Stmt> made;
      for (const Stmt& s : node->stmts) made.push_back(stmt(s));
      return block(std::move(made));
    }
    if (auto* node = as<Let>(old)) return let(var(node->var), expr(node->value), stmt(node->body));
    if (auto* node = as<For>(old)) {
      return loop(var(node->var), expr(node->extent), node->loop, stmt(node->body));
    }
    if (auto* node = as<While>(old)) return while_loop(expr(node->condition), stmt(node->body));
    if (auto* node = as<If>(old)) {
      return branch(expr(node->condition), stmt(node->yes), node->no ? stmt(node->no) : Stmt());
    }
    if (auto* node = as<Store>(old)) {
      const Buffer to = buffer(node->buffer);
      const Expr value = expr(node->value);
      return store(to, exprs(node->indices), cast(value->type.with_dtype(to->dtype), value));
    }
    if (auto* node = as<Alloc>(old)) return alloc(buffer(node->buffer), stmt(node->body));
    GS_CHECK(as<Barrier>(old), "statement ", name_of(old->kind));
    return old;
  }

  std::optional<Diagnostic> error_;
  bool f16_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::unordered_map<const VarNode*, Var> vars_;
  // The key's node is kept alive beside its replacement, so that no address is used twice.
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> memo_;
};

}  // namespace

DType gpu_storage_of(DType value_type, bool f16) {
  if (f16 && value_type == DType::f16) return DType::f16;
  value_type = carrier_of(value_type);
  if (is_float(value_type)) return DType::f32;
  return value_type == DType::u32 || value_type == DType::u64 ? DType::u32 : DType::i32;
}

Result<Kernel> legalize_gpu_types(const Kernel& kernel, bool f16) {
  return Legalizer(f16).run(kernel);
}

}  // namespace gossamer::codegen::text
