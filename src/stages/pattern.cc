#include "stages/pattern.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"

namespace gossamer::stages {
namespace {

using ir::Expr;
using ir::Var;

constexpr std::array<std::string_view, 6> names{"map",         "reduce", "window",
                                                "contraction", "scan",   "scatter"};

}  // namespace

std::string_view name_of(Pattern pattern) { return names[static_cast<size_t>(pattern)]; }

Pattern pattern_of(const Stage& stage) {
  if (stage.kind == StageKind::scatter) return Pattern::scatter;
  if (stage.kind == StageKind::scan) return Pattern::scan;
  if (stage.kind != StageKind::reduce) return Pattern::map;
  if (stage.in_order) return Pattern::reduce;
  const auto terms = loads_of(stage.values);
  if (terms.size() < 2) return Pattern::reduce;
  const bool reuse = std::ranges::all_of(terms, [&](const ir::Load* load) {
    return std::ranges::any_of(stage.axes, [&](const ir::Var& a) {
      return ir::as_int(stage.extents[static_cast<size_t>(&a - stage.axes.data())]).value_or(2) >
                 1 &&
             !moves(*load, a);
    });
  });
  return reuse && is_sum(stage.accumulators) ? Pattern::contraction : Pattern::window;
}

bool writes_a_row(const Stage& scatter) {
  if (scatter.kind != StageKind::scatter || scatter.initial || scatter.condition || scatter.table ||
      !scatter.accumulators.empty())
    return false;
  std::vector<int> places(scatter.axes.size());  // indices of the target that move with the axis
  const auto is_index = [&](const Var& axis) {
    return std::ranges::any_of(scatter.target,
                               [&](const Expr& e) { return e.get() == axis.get(); });
  };
  for (const Expr& target : scatter.target) {
    int moving = 0;
    for (size_t i = 0; i < scatter.axes.size(); ++i) {
      const Var& axis = scatter.axes[i];
      if (!ir::uses(target, axis.get())) continue;
      const bool moves = !ir::uses(ir::simplify(target - axis), axis.get());
      // A row may begin where another index says: a sample's.
      if (!moves && is_index(axis)) continue;
      if (!moves || ++moving > 1) return false;
      ++places[i];
    }
  }
  return std::ranges::all_of(places, [](int count) { return count == 1; });
}

}  // namespace gossamer::stages
