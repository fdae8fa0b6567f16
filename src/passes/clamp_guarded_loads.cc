#include "passes/clamp_guarded_loads.h"

#include "ir/build.h"
#include "ir/rewrite.h"
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

// Where an index comes from memory, nothing is known of it: of the model's inputs, of what lies in
// padding lanes.
bool is_loaded(const Expr& index, const ir::Bounds& bounds) {
  bool found = false;
  ir::visit(index, [&](const Expr& part) {
    // A variable without a range is a Let of something loaded (or a dimension, where clamping only
    // costs time).
    found = found || part->kind == ir::NodeKind::Load ||
            (part->kind == ir::NodeKind::Var && bounds.of(part).low == ir::Range{}.low);
    return !found;
  });
  return found;
}

Expr clamp_loads(const Expr& arm, const ir::Bounds& bounds, bool loaded_only) {
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    if (!load || load->buffer->scope != ir::Scope::global) return {};
    std::vector<Expr> indices;
    bool changed = false;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      Expr index = load->indices[d];
      if (loaded_only && !is_loaded(index, bounds)) {
        indices.push_back(index);
        continue;
      }
      const Expr extent = held(*load->buffer, d);
      if (!ir::prove(index < extent, bounds))
        index = ir::min(index, extent - ir::index(1)), changed = true;
      if (!ir::prove(index >= ir::index(0), bounds))
        index = ir::max(index, ir::index(0)), changed = true;
      indices.push_back(index);
    }
    return changed ? ir::load(load->buffer, indices) : Expr{};
  };
  return ir::rewrite(arm, rewriter);
}

Expr in_selects(const Expr& expr, const ir::Bounds& bounds) {
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* select = ir::as<ir::Select>(e);
    if (!select) return {};
    return ir::select(select->condition, clamp_loads(select->yes, bounds, false),
                      clamp_loads(select->no, bounds, false));
  };
  return clamp_loads(ir::rewrite(expr, rewriter), bounds, true);
}

Stmt walk(const Stmt& s, ir::Bounds bounds) {
  if (!s) return s;
  if (const auto* block = ir::as<ir::Block>(s)) {
    std::vector<Stmt> stmts;
    for (const Stmt& child : block->stmts) stmts.push_back(walk(child, bounds));
    return ir::block(std::move(stmts));
  }
  if (const auto* let = ir::as<ir::Let>(s)) {
    const Expr value = in_selects(let->value, bounds);
    if (value->type == ir::Type(ir::DType::index)) bounds.set(let->var.get(), bounds.of(value));
    return ir::let(let->var, value, walk(let->body, bounds));
  }
  if (const auto* loop = ir::as<ir::For>(s)) {
    const int64_t high = bounds.of(loop->extent).high;
    bounds.set(loop->var.get(), {0, high == ir::Range{}.high ? high : high - 1});
    return ir::loop(loop->var, loop->extent, loop->loop, walk(loop->body, bounds));
  }
  if (const auto* branch = ir::as<ir::If>(s)) {
    return ir::branch(in_selects(branch->condition, bounds), walk(branch->yes, bounds),
                      walk(branch->no, bounds));
  }
  if (const auto* alloc = ir::as<ir::Alloc>(s))
    return ir::alloc(alloc->buffer, walk(alloc->body, bounds));
  if (const auto* store = ir::as<ir::Store>(s)) {
    return ir::store(store->buffer, store->indices, in_selects(store->value, bounds));
  }
  return s;
}

}  // namespace

Stmt clamp_guarded_loads(const Stmt& body) { return walk(body, {}); }

}  // namespace gossamer::passes
