// Reductions over one axis that a reshape made of channels and an open image, as reductions over
// two: r < 16 * h * w that reads channel r // (h * w). Which channel it is then costs no division
// in any layout.
#include <algorithm>

#include "graph/stage_graph.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::graph {
namespace {

using ir::Expr;
using ops::Stage;

// The largest part of the axis by which terms divide it, where a known number of them makes it up.
struct Part {
  Expr extent;
  int64_t count = 0;
};

Part part_of(const Stage& stage, size_t axis, const ir::Bounds& bounds) {
  Part best;
  for (const Expr& value : stage.values) {
    ir::visit(value, [&](const Expr& e) {
      const auto* quotient = ir::as<ir::Binary>(e);
      if (!quotient || quotient->op != ir::BinaryOp::floordiv ||
          !quotient->a.same(stage.reduce_axes[axis]))
        return true;
      const auto count =
          ir::as_int(ir::simplify(ir::floordiv(stage.reduce_extents[axis], quotient->b), bounds));
      if (count && *count > 1 && (best.count == 0 || *count < best.count) &&
          ir::prove_equal(quotient->b * ir::index(*count), stage.reduce_extents[axis], bounds))
        best = {quotient->b, *count};
      return true;
    });
  }
  return best;
}

void unflatten(Stage& stage) {
  for (size_t axis = 0; axis < stage.reduce_axes.size(); ++axis) {
    if (ir::as_int(stage.reduce_extents[axis])) continue;
    const Part part = part_of(stage, axis, ops::bounds_of_terms(stage));
    if (part.count == 0) continue;
    const ir::Var whole = stage.reduce_axes[axis];
    const ir::Var outer = ir::var(whole->name + ".part"), inner = ir::var(whole->name);
    const auto at = static_cast<std::ptrdiff_t>(axis);
    stage.reduce_axes[axis] = inner;
    stage.reduce_axes.insert(stage.reduce_axes.begin() + at, outer);
    stage.reduce_extents[axis] = part.extent;
    stage.reduce_extents.insert(stage.reduce_extents.begin() + at, ir::index(part.count));
    const ir::Bounds bounds = ops::bounds_of_terms(stage);
    const ir::VarMap map{{whole.get(), outer * part.extent + inner}};
    for (Expr& value : stage.values) value = ir::simplify(ir::substitute(value, map), bounds);
  }
}

}  // namespace

void unflatten_axes(StageGraph& graph) {
  for (ops::Entry& entry : graph.program) {
    Stage* stage = entry.stage();
    if (stage && stage->kind == ops::StageKind::reduce && !stage->in_order) unflatten(*stage);
  }
}

}  // namespace gossamer::graph
