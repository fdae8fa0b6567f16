// Reductions over one axis that a reshape made of several, as reductions over these: r < 16 *
// h * w that reads channel r // (h * w), row r // w % h and column r % w. Which they are then costs
// no division in any layout.
#include <algorithm>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/loads.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/stage_graph.h"

namespace gossamer::stages {
namespace {

using ir::Expr;

// The largest part of the axis by which terms divide it, and how many of them make it up.
struct Part {
  Expr extent, count;
};

using Loads = std::vector<const ir::Load*>;

// How many parts of this extent make up the axis: what a division gives, or an extent of what is
// read; null: neither.
Expr count_of(const Expr& part, const Expr& extent, const Loads& loads, const ir::Bounds& bounds) {
  std::vector<Expr> tried{
      ir::simplify(ir::floordiv(extent, part), bounds),
      ir::index(ir::estimate(extent) / std::max<int64_t>(ir::estimate(part), 1))};
  for (const ir::Load* load : loads)
    tried.insert(tried.end(), load->buffer->shape.begin(), load->buffer->shape.end());
  const auto found = std::ranges::find_if(
      tried, [&](const Expr& count) { return ir::prove_equal(part * count, extent, bounds); });
  return found == tried.end() || ir::is_const(*found, 1) ? Expr() : *found;
}

Part part_of(const Stage& stage, size_t axis, const Loads& loads, const ir::Bounds& bounds) {
  Part best;
  for (const Expr& value : stage.values) {
    ir::visit(value, [&](const Expr& e) {
      const auto* quotient = ir::as<ir::Binary>(e);
      if (!quotient || quotient->op != ir::BinaryOp::floordiv ||
          !quotient->a.same(stage.reduce_axes[axis]))
        return true;
      const Expr count = count_of(quotient->b, stage.reduce_extents[axis], loads, bounds);
      if (count.get() && (!best.count.get() || ir::estimate(count) < ir::estimate(best.count)))
        best = {quotient->b, count};
      return true;
    });
  }
  return best;
}

// The values with quotients and remainders of two axes, of which `inner` has `extent` points, in
// place of those by parts of the whole one: products of open extents are more than simplify()
// divides by.
std::vector<Expr> with_parts(const std::vector<Expr>& values, const ir::Var& whole,
                             const ir::Var& outer, const ir::Var& inner, const Expr& extent,
                             const Loads& loads, const ir::Bounds& bounds) {
  ir::Rewriter parts;
  parts.expr = [&](const Expr& e) -> Expr {
    const auto* binary = ir::as<ir::Binary>(e);
    if (!binary) return nullptr;
    const Expr &a = binary->a, &b = binary->b;
    const bool is_whole = a.same(whole), is_quotient = binary->op == ir::BinaryOp::floordiv;
    if (is_whole && is_quotient && ir::prove_equal(b, extent, bounds)) return outer;
    if (binary->op != ir::BinaryOp::floormod) return nullptr;
    if (is_whole && ir::prove_equal(b, extent, bounds)) return inner;
    if (is_whole && count_of(b, extent, loads, bounds).get()) return ir::floormod(inner, b);
    const auto* row = ir::as<ir::Binary>(a);
    if (row && row->op == ir::BinaryOp::floordiv && row->a.same(whole) &&
        ir::prove_equal(row->b * b, extent, bounds))
      return ir::floordiv(inner, row->b);
    return nullptr;
  };
  std::vector<Expr> made;
  for (const Expr& value : values) made.push_back(ir::rewrite(value, parts));
  return made;
}

void unflatten(Stage& stage, bool known) {
  for (size_t axis = 0; axis < stage.reduce_axes.size(); ++axis) {
    if (!known && ir::as_int(stage.reduce_extents[axis])) continue;
    const ir::Bounds before = bounds_of_terms(stage);
    const Loads loads = ir::loads_of(stage.values);
    const Part part = part_of(stage, axis, loads, before);
    if (!part.count.get()) continue;
    const ir::Var whole = stage.reduce_axes[axis];
    const ir::Var outer = ir::var(whole->name + ".part"), inner = ir::var(whole->name);
    std::vector<Expr> values =
        with_parts(stage.values, whole, outer, inner, part.extent, loads, before);
    // What else walks the axis whole keeps its single loop, unless that is open.
    const bool stays = std::ranges::any_of(
        values, [&](const Expr& value) { return ir::uses(value, whole.get()); });
    if (stays && (ir::as_int(stage.reduce_extents[axis]) || !ir::as_int(part.count))) continue;
    const auto at = static_cast<std::ptrdiff_t>(axis);
    stage.reduce_axes[axis] = inner;
    stage.reduce_axes.insert(stage.reduce_axes.begin() + at, outer);
    stage.reduce_extents[axis] = part.extent;
    stage.reduce_extents.insert(stage.reduce_extents.begin() + at, part.count);
    const ir::Bounds bounds = bounds_of_terms(stage);
    const ir::VarMap map{{whole.get(), outer * part.extent + inner}};
    for (Expr& value : values) value = ir::simplify(ir::substitute(value, map), bounds);
    stage.values = std::move(values);
  }
}

}  // namespace

void unflatten_axes(StageGraph& graph, bool known) {
  for (Entry& entry : graph.program) {
    Stage* stage = entry.stage();
    if (stage && stage->kind == StageKind::reduce && !stage->in_order) unflatten(*stage, known);
  }
}

}  // namespace gossamer::stages
