#include "passes/lower_small_types.h"

#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/small_float.h"

namespace gossamer::passes {
namespace {

using namespace ir;

bool is_small(const Expr& e) { return ir::is_small(e->type.dtype); }
Type carrier(Type type) { return type.with_dtype(carrier_of(type.dtype)); }

bool has_small_types(const Kernel& kernel) {
  const auto small = [](const Kernel::Param& p) { return ir::is_small(p.buffer->dtype); };
  if (std::ranges::any_of(kernel.params, small)) return true;
  bool found = false;
  visit(
      kernel.body, [&](const Stmt&) { return !found; },
      [&](const Expr& e) {
        found = found || is_small(e);
        return !found;
      });
  return found;
}

class Lowering {
 public:
  Lowering() {
    rewriter_.expr_before = [this](const Expr& e) { return expr(e); };
    rewriter_.stmt_before = [this](const Stmt& s) { return stmt(s); };
  }

  Kernel run(const Kernel& kernel) {
    Kernel result = kernel;
    for (Kernel::Param& param : result.params) param.buffer = buffer_for(param.buffer);
    result.body = rewritten(kernel.body);
    return result;
  }

 private:
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

  Buffer buffer_for(const Buffer& original) {
    if (!ir::is_small(original->dtype)) return original;
    Buffer& made = buffers_[original.get()];
    if (!made.get()) {
      auto* node = new BufferNode(*original);
      node->dtype = node->storage = carrier_of(original->dtype);
      made = Buffer(node);
    }
    return made;
  }

  Var var_for(const Var& original) {
    Var& made = vars_[original.get()];
    if (!made.get()) made = var(original->name, carrier(original->type));
    return made;
  }

  // What stands for a node that is of a small type or takes one; null for all others.
  Expr expr(const Expr& e) {
    if (auto known = memo_.find(e.get()); known != memo_.end()) return known->second.second;
    Expr made = is_small(e) ? code(e) : of_small_operands(e);
    if (made) memo_.emplace(e.get(), std::pair(e, made));
    return made;
  }

  Expr of_small_operands(const Expr& e) {
    if (auto* node = as<Cast>(e); node && is_small(node->a)) {
      const Expr a = value(node->a);
      return e->type.dtype == DType::boolean ? Expr(a != 0) : cast(e->type, a);
    }
    if (auto* node = as<Bitcast>(e); node && is_small(node->a)) {
      return bitcast(e->type, rewritten(node->a));
    }
    if (auto* node = as<Unary>(e); node && is_small(node->a))
      return unary(node->op, value(node->a));
    if (auto* node = as<Binary>(e); node && is_small(node->a)) {
      return binary(node->op, value(node->a), value(node->b));
    }
    return {};
  }

  // A small operand in f32 or i32.
  Expr value(const Expr& e) { return decode_small(e->type.dtype, rewritten(e)); }

  Expr code(const Expr& e) {
    const DType dtype = e->type.dtype;
    switch (e->kind) {
      case NodeKind::Var:
        return var_for(Var(static_cast<const VarNode*>(e.get())));
      case NodeKind::IntImm:
        return constant_int(carrier(e->type), static_cast<const IntImm&>(*e).value);
      case NodeKind::FloatImm:
        return constant_int(carrier(e->type),
                            to_small(dtype, static_cast<const FloatImm&>(*e).value));
      case NodeKind::Load: {
        const auto& node = static_cast<const Load&>(*e);
        auto* made = new Load(carrier(e->type));  // a texel's lanes are not those of its indices
        made->buffer = buffer_for(node.buffer);
        made->indices = rewritten(node.indices);
        return trimmed(dtype, Expr(made), node.buffer->scope == Scope::global);
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
      case NodeKind::Cast:
        return converted(dtype, static_cast<const Cast&>(*e).a);
      case NodeKind::Bitcast: {
        const Expr bits = rewritten(static_cast<const Bitcast&>(*e).a);
        const Expr same = bitcast(carrier(bits->type), bits);
        return trimmed(dtype, cast(carrier(e->type), same), true);
      }
      case NodeKind::Unary: {
        const auto& node = static_cast<const Unary&>(*e);
        return encode_small(dtype, unary(node.op, value(node.a)));
      }
      case NodeKind::Binary: {
        const auto& node = static_cast<const Binary&>(*e);
        return encode_small(dtype, binary(node.op, value(node.a), value(node.b)));
      }
      case NodeKind::Fma: {
        const auto& node = static_cast<const Fma&>(*e);
        return encode_small(dtype, fma(value(node.a), value(node.b), value(node.c)));
      }
      default:
        break;
    }
    GS_CHECK(false, name_of(dtype), " in ", name_of(e->kind));
  }

  // Of codes that came from elsewhere only the type's own bits count.
  static Expr trimmed(DType dtype, const Expr& code, bool from_elsewhere) {
    if (bit_width(dtype) == 8 || !from_elsewhere) return code;
    return trim_small(dtype, code);
  }

  // Cast to a small type.
  Expr converted(DType to, const Expr& from) {
    const DType source = from->type.dtype;
    Expr a = is_small(from) ? value(from) : rewritten(from);
    const Type single = a->type.with_dtype(DType::f32), word = a->type.with_dtype(DType::i32);
    if (is_float(to)) {
      if (source == DType::f64 && to != DType::f8e8m0) a = narrowed_to_odd(a);
      return encode_small(to, cast(single, a));
    }
    if (is_float(source)) {
      a = min(max(cast(word, a), cast(word, lowest(Type(to, word.lanes)))),
              cast(word, highest(Type(to, word.lanes))));
    }
    return encode_small(to, cast(word, a));
  }

  Stmt stmt(const Stmt& s) {
    if (auto* node = as<Let>(s); node && ir::is_small(node->var->type.dtype)) {
      return let(var_for(node->var), rewritten(node->value), rewritten(node->body));
    }
    if (auto* node = as<Alloc>(s); node && ir::is_small(node->buffer->dtype)) {
      return alloc(buffer_for(node->buffer), rewritten(node->body));
    }
    if (auto* node = as<Store>(s); node && ir::is_small(node->buffer->dtype)) {
      return store(buffer_for(node->buffer), rewritten(node->indices), rewritten(node->value));
    }
    return {};
  }

  Rewriter rewriter_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::unordered_map<const VarNode*, Var> vars_;
  // The key is kept alive beside its replacement, so that no address is used twice.
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> memo_;
};

}  // namespace

Kernel lower_small_types(const Kernel& kernel) {
  return has_small_types(kernel) ? Lowering().run(kernel) : kernel;
}

}  // namespace gossamer::passes
