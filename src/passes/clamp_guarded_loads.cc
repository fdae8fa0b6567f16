#include "passes/clamp_guarded_loads.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/rewriting.h"
#include "ir/simplify.h"

namespace gossamer::passes {
namespace {

using ir::Expr;
using ir::Stmt;

// Elements that memory holds along a dim: blocks round up, and those may be read.
Expr held(const ir::BufferNode& buffer, size_t dim) {
  for (const ir::LayoutAxis& axis : buffer.layout.axes) {
    if (!buffer.layout.flat && axis.dim == static_cast<int>(dim) && axis.divide > 1) {
      return ir::simplify(
          ir::floordiv(buffer.shape[dim] + ir::index(axis.divide - 1), axis.divide) *
          ir::index(axis.divide));
    }
  }
  return buffer.shape[dim];
}

// What is known in a scope.
struct Scope {
  bool masks = false;  // lanes are loaded only where the arm of a select is taken
  ir::Bounds bounds;
  std::unordered_set<const ir::Node*> loaded;      // variables that a Let reads from memory
  std::vector<std::pair<ir::Var, int64_t>> lanes;  // of vectorized loops, and how many there are
};

// An index and its extent in vectors, where each of these is inside as a whole or outside.
struct InVectors {
  Expr index, extent, lane;
  int64_t lanes;
};
std::optional<InVectors> in_vectors(const Expr& index, const Expr& extent, const Scope& scope) {
  for (const auto& [lane, lanes] : scope.lanes) {
    const Expr base = ir::simplify(index - lane, scope.bounds);
    const auto divides = [&](const Expr& e) {
      return ir::is_const(ir::simplify(ir::floormod(e, lanes), scope.bounds), 0);
    };
    if (ir::uses(base, lane.get()) || !divides(base) || !divides(extent)) continue;
    return InVectors{ir::simplify(ir::floordiv(base, lanes), scope.bounds),
                     ir::simplify(ir::floordiv(extent, lanes), scope.bounds), lane, lanes};
  }
  return std::nullopt;
}

// Where an index comes from memory, nothing is known of it: of the model's inputs, of what lies in
// padding lanes.
bool is_loaded(const Expr& index, const Scope& scope) {
  bool found = false;
  ir::visit(index, [&](const Expr& part) {
    found = found || part->kind == ir::NodeKind::Load || scope.loaded.contains(part.get());
    return !found;
  });
  return found;
}

// Whether a value is arithmetic around one select whose first arm alone loads, so that a generator
// evaluates its loads under that condition and no other.
const ir::Select* plain_select(const Expr& value) {
  const ir::Select* found = nullptr;
  int selects = 0;
  bool plain = true;
  ir::visit(value, [&](const Expr& e) {
    switch (e->kind) {
      case ir::NodeKind::IntImm:
      case ir::NodeKind::FloatImm:
      case ir::NodeKind::Var:
      case ir::NodeKind::Fma:
        break;
      case ir::NodeKind::Load:
        plain = plain && e->type.is_scalar() && ir::byte_size(e->type.dtype) >= 4 &&
                std::ranges::none_of(ir::as<ir::Load>(e)->indices,
                                     [](const Expr& index) { return is_loaded(index, {}); });
        break;
      case ir::NodeKind::Binary:
        plain = plain && ir::as<ir::Binary>(e)->op != ir::BinaryOp::pow;
        break;
      case ir::NodeKind::Select:
        found = ir::as<ir::Select>(e);
        ++selects;
        break;
      default:
        plain = false;
    }
    return plain;
  });
  if (!plain || selects != 1) return nullptr;
  return is_loaded(found->condition, {}) || is_loaded(found->no, {}) ? nullptr : found;
}

// What a condition says: expressions that are not negative where it holds.
void add_facts(const Expr& condition, std::vector<Expr>& facts) {
  const auto* both = ir::as<ir::Binary>(condition);
  if (!both) return;
  const Expr &a = both->a, &b = both->b;
  if (both->op == ir::BinaryOp::logical_and) {
    add_facts(a, facts);
    add_facts(b, facts);
  }
  if (a->type.dtype != ir::DType::index) return;
  if (both->op == ir::BinaryOp::lt) facts.push_back(b - a - ir::index(1));
  if (both->op == ir::BinaryOp::le) facts.push_back(b - a);
  if (both->op == ir::BinaryOp::gt) facts.push_back(a - b - ir::index(1));
  if (both->op == ir::BinaryOp::ge) facts.push_back(a - b);
}

// The expressions of one statement. However often one of them is shared, it becomes at most two:
// what it is where it is always evaluated, and what it is in the arms of selects.
class Clamping {
 public:
  explicit Clamping(const Scope& scope)
      : scope_(scope), always_(hooks(true)), guarded_(hooks(false)) {}

  Expr operator()(const Expr& expr) {
    if (const ir::Select* select = scope_.masks ? plain_select(expr) : nullptr)
      add_facts(select->condition, facts_);
    std::unordered_set<const ir::Node*> seen;
    collect_unguarded(expr, seen);
    return always_(expr);
  }
  std::vector<Expr> operator()(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    for (const Expr& expr : exprs) result.push_back(always_(expr));
    return result;
  }

 private:
  ir::Rewriter hooks(bool always) {
    ir::Rewriter hooks;
    hooks.expr = [this, always](const Expr& e) { return clamp(e, always); };
    if (always) hooks.expr_before = [this](const Expr& e) { return in_arms(e); };
    return hooks;
  }

  Expr in_arms(const Expr& expr) {
    const auto* select = ir::as<ir::Select>(expr);
    if (!select) return {};
    return ir::select(always_(select->condition), guarded_(select->yes), guarded_(select->no));
  }

  // A condition such as that of rounding makes the loads that its arms make, too.
  void collect_unguarded(const Expr& expr, std::unordered_set<const ir::Node*>& seen) {
    ir::visit(expr, [&](const Expr& e) {
      if (!seen.insert(e.get()).second) return false;
      if (ir::as<ir::Load>(e)) unguarded_.insert(e);
      const auto* select = ir::as<ir::Select>(e);
      if (select) collect_unguarded(select->condition, seen);
      return !select;
    });
  }

  Expr clamp(const Expr& expr, bool loaded_only) const {
    const auto* load = ir::as<ir::Load>(expr);
    if (!load || load->buffer->scope != ir::Scope::global) return {};
    loaded_only = loaded_only || unguarded_.contains(expr);
    std::vector<Expr> indices;
    bool changed = false;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      const Expr& index = load->indices[d];
      if (loaded_only && !is_loaded(index, scope_)) {
        indices.push_back(index);
        continue;
      }
      const Expr extent = held(*load->buffer, d);
      const bool above =
          !ir::prove(index < extent, scope_.bounds) && !follows(extent - ir::index(1) - index);
      const bool below = !ir::prove(index >= ir::index(0), scope_.bounds) && !follows(index);
      indices.push_back(above || below ? inside(index, extent, above, below) : index);
      changed = changed || above || below;
    }
    return changed ? ir::load(load->buffer, indices) : Expr{};
  }

  // Vectors that are inside or outside as a whole stay contiguous.
  Expr inside(Expr index, Expr extent, bool above, bool below) const {
    const auto vectors = in_vectors(index, extent, scope_);
    if (vectors) index = vectors->index, extent = vectors->extent;
    if (above) index = ir::min(index, extent - ir::index(1));
    if (below) index = ir::max(index, ir::index(0));
    return vectors ? index * ir::index(vectors->lanes) + vectors->lane : index;
  }

  // Whether an expression is not negative where the select's condition holds, which may speak of
  // whole vectors.
  bool follows(const Expr& e) const {
    const auto is_behind = [&](const Expr& fact) {
      return ir::prove(ir::simplify(e - fact, scope_.bounds) >= ir::index(0), scope_.bounds);
    };
    return std::ranges::any_of(facts_, [&](const Expr& fact) {
      return is_behind(fact) || std::ranges::any_of(scope_.lanes, [&](const auto& lanes) {
               return is_behind(fact * ir::index(lanes.second));
             });
    });
  }

  struct Hash {
    size_t operator()(const Expr& e) const { return ir::hash(e); }
  };
  struct Equal {
    bool operator()(const Expr& a, const Expr& b) const { return ir::equal(a, b); }
  };

  const Scope& scope_;
  std::vector<Expr> facts_;
  std::unordered_set<Expr, Hash, Equal> unguarded_;  // loads that are made in any case
  ir::Rewriting always_, guarded_;
};

Stmt walk(const Stmt& s, Scope scope) {
  if (!s) return s;
  Clamping clamped(scope);
  if (const auto* block = ir::as<ir::Block>(s)) {
    std::vector<Stmt> stmts;
    for (const Stmt& child : block->stmts) stmts.push_back(walk(child, scope));
    return ir::block(std::move(stmts));
  }
  if (const auto* let = ir::as<ir::Let>(s)) {
    const Expr value = clamped(let->value);
    if (value->type == ir::Type(ir::DType::index))
      scope.bounds.set(let->var.get(), scope.bounds.of(value));
    if (is_loaded(value, scope)) scope.loaded.insert(let->var.get());
    return ir::let(let->var, value, walk(let->body, scope));
  }
  if (const auto* loop = ir::as<ir::For>(s)) {
    const Expr extent = clamped(loop->extent);
    const int64_t high = scope.bounds.of(extent).high;
    scope.bounds.set(loop->var.get(), {0, high == ir::Range{}.high ? high : high - 1});
    if (const auto lanes = ir::as_int(extent); lanes && loop->loop == ir::LoopKind::vectorized)
      scope.lanes.emplace_back(loop->var, *lanes);
    return ir::loop(loop->var, extent, loop->loop, walk(loop->body, scope));
  }
  if (const auto* loop = ir::as<ir::While>(s))
    return ir::while_loop(clamped(loop->condition), walk(loop->body, scope));
  if (const auto* branch = ir::as<ir::If>(s)) {
    return ir::branch(clamped(branch->condition), walk(branch->yes, scope),
                      walk(branch->no, scope));
  }
  if (const auto* alloc = ir::as<ir::Alloc>(s))
    return ir::alloc(alloc->buffer, walk(alloc->body, scope));
  if (const auto* store = ir::as<ir::Store>(s)) {
    const std::vector<Expr> indices = clamped(store->indices);
    return ir::store(store->buffer, indices, clamped(store->value));
  }
  return s;
}

}  // namespace

Stmt clamp_guarded_loads(const Stmt& body) { return walk(body, {}); }

Stmt clamp_unmasked_loads(const Stmt& body) {
  Scope scope;
  scope.masks = true;
  return walk(body, scope);
}

}  // namespace gossamer::passes
