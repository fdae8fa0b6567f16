#include "schedule/hold_inside.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using stages::Along;

// An axis whose loops run past its extent.
struct Ragged {
  ir::Var axis;
  Expr last;
  int lanes = 0;    // of the vectors that lie along it; 0: none do
  int64_t run = 1;  // neighbours of which one is inside: what they share is there
};

std::vector<Ragged> ragged_axes(const stages::Stage& stage, const Nest& nest) {
  std::vector<Ragged> result;
  for (size_t i = 0; i < nest.axes.size(); ++i) {
    Loop loop = nest.loop(nest.axes[i]);
    while (loop.fuse >= 0) loop = nest.loop(nest.fuses[static_cast<size_t>(loop.fuse)].whole);
    if (loop.split < 0) continue;
    const Split& split = nest.splits[static_cast<size_t>(loop.split)];
    if (split.tail != Tail::round_up && split.tail != Tail::mask) continue;
    Ragged& axis = result.emplace_back(stage.axes[i], stage.extents[i] - ir::index(1));
    if (split.tail == Tail::mask) axis.run = split.factors.back();
    for (LoopId leaf : nest.leaves(nest.axes[i])) {
      if (nest.loop(leaf).kind == ir::LoopKind::vectorized)
        axis.lanes = static_cast<int>(ir::as_int(nest.loop(leaf).extent).value_or(0));
    }
  }
  return result;
}

}  // namespace

stages::Stage hold_inside(const stages::Stage& stage, const Nest& nest) {
  const std::vector<Ragged> ragged = ragged_axes(stage, nest);
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  const auto leaves = [&](const ir::Load& load, const Ragged& axis) {
    return axis.lanes == 0 ||
           stages::along(load, load.buffer->layout, axis.axis, axis.lanes, bounds) == Along::gather;
  };
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    if (!load) return {};
    std::vector<Expr> indices = load->indices;
    bool changed = false;
    for (const Ragged& axis : ragged) {
      if (!leaves(*load, axis)) continue;
      for (Expr& index : indices) {
        if (!ir::uses(index, axis.axis.get()) || stages::is_shared(index, axis.axis, axis.run))
          continue;
        index = ir::substitute(index, {{axis.axis.get(), ir::min(axis.axis, axis.last)}});
        changed = true;
      }
    }
    for (size_t d = 0; d < indices.size(); ++d) {
      if (loads_of(indices[d]).empty()) continue;
      const Expr last = load->buffer->shape[d] - ir::index(1);
      indices[d] = ir::max(ir::min(indices[d], last), ir::index(0));
      changed = true;
    }
    return changed ? ir::load(load->buffer, std::move(indices)) : Expr{};
  };
  stages::Stage held = stage;
  stages::visit_exprs(held, stages::may_load, [&](Expr& e) { e = ir::rewrite(e, rewriter); });
  return held;
}

}  // namespace gossamer::schedule
