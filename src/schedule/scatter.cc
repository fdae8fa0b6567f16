#include "schedule/scatter.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "ops/search.h"
#include "ops/states.h"

namespace gossamer::schedule {

using ir::Expr;
using ir::Var;

namespace {

// Every target index is one of the stage's axes, over the output's whole extent, or the same for
// all updates: a choice per point instead of a search.
std::optional<ops::Stage> choice_form(const ops::Stage& scatter) {
  if (!scatter.combiner.left.empty() || scatter.condition) return std::nullopt;
  const ir::Buffer& before = scatter.initial ? scatter.initial : scatter.output;
  ops::Stage choice;
  choice.name = scatter.name;
  choice.origin = scatter.origin;
  choice.output = scatter.output;
  choice.extents = scatter.output->shape;
  std::vector<Expr> point;
  ir::VarMap axes;
  Expr aims = ir::boolean(true);
  for (size_t d = 0; d < choice.extents.size(); ++d) {
    choice.axes.push_back(ir::var("p" + std::to_string(d)));
    point.push_back(choice.axes.back());
    const Expr& target = scatter.target[d];
    bool is_axis = false;
    for (size_t i = 0; i < scatter.axes.size(); ++i) {
      if (target.get() != scatter.axes[i].get()) {
        if (ir::uses(target, scatter.axes[i].get())) return std::nullopt;
        continue;
      }
      if (!ir::prove_equal(scatter.extents[i], choice.extents[d])) return std::nullopt;
      is_axis = axes.emplace(scatter.axes[i].get(), point[d]).second;
      if (!is_axis) return std::nullopt;
    }
    if (!is_axis) aims = aims && point[d] == target;
  }
  if (axes.size() != scatter.axes.size()) return std::nullopt;
  choice.result =
      ir::select(aims, ir::substitute(scatter.values[0], axes), ir::load(before, point));
  return choice;
}

// Each point searches for the first update that aims at it or beyond it.
ops::Stage search_form(const ops::Stage& scatter) {
  ops::Stage search;
  search.name = scatter.name;
  search.origin = scatter.origin;
  search.output = scatter.output;
  search.extents = scatter.output->shape;
  search.axes = {ir::var("p")};
  const Expr point = search.axes[0], length = scatter.extents[0];
  const auto at = [&](const Expr& expr, const Expr& place) {
    const Expr inside = ir::max(ir::min(place, length - ir::index(1)), ir::index(0));
    return ir::substitute(expr, {{scatter.axes[0].get(), inside}});
  };
  ops::search_in(search, ir::index(0), length, ir::as_int(length).value_or(-1),
                 [&](const Expr& place) { return at(scatter.target[0], place) >= point; });
  const Expr found = search.combiner.left[0];
  const Expr aims = found < length && at(scatter.target[0], found) == point;
  search.result =
      ir::select(aims, at(scatter.values[0], found), ir::load(scatter.initial, {point}));
  return search;
}

}  // namespace

ops::Stage gather_form(const ops::Stage& scatter) {
  if (scatter.increasing) return search_form(scatter);
  if (auto choice = choice_form(scatter)) return *std::move(choice);
  ops::Stage gather;
  gather.kind = ops::StageKind::reduce;
  gather.name = scatter.name;
  gather.origin = scatter.origin;
  gather.output = scatter.output;
  gather.extents = scatter.output->shape;
  std::vector<Expr> point;
  for (size_t d = 0; d < gather.extents.size(); ++d) {
    gather.axes.push_back(ir::var("p" + std::to_string(d)));
    point.push_back(gather.axes.back());
  }
  gather.reduce_axes = scatter.axes;
  gather.reduce_extents = scatter.extents;
  Expr aims = ir::boolean(true);
  for (size_t d = 0; d < point.size(); ++d) aims = aims && scatter.target[d] == point[d];
  if (scatter.condition) aims = aims && scatter.condition;
  const Expr start = ir::load(scatter.initial, point);
  ops::Combiner& combiner = gather.combiner;
  if (!scatter.combiner.left.empty()) {
    combiner = scatter.combiner;
    const Expr& identity = combiner.identity[0];
    gather.values = {ir::select(aims, scatter.values[0], identity)};
    gather.result = ir::substitute(
        combiner.joined[0],
        {{combiner.left[0].get(), start}, {combiner.right[0].get(), combiner.left[0]}});
    return gather;
  }
  // Without a join the last update stands: accumulators (found, value).
  const ir::Type type = scatter.values[0]->type, flag = ir::DType::i32;
  combiner.left = {ir::var("found", flag), ir::var("value", type)};
  combiner.right = {ir::var("found", flag), ir::var("value", type)};
  const Expr later = combiner.right[0] != 0.0;
  combiner.joined = {ir::max(combiner.left[0], combiner.right[0]),
                     ir::select(later, combiner.right[1], combiner.left[1])};
  combiner.identity = {ir::zero(flag), ir::zero(type)};
  gather.values = {ir::select(aims, ir::constant_int(flag, 1), ir::zero(flag)), scatter.values[0]};
  gather.result = ir::select(combiner.left[0] != 0.0, combiner.left[1], start);
  return gather;
}

bool writes_a_row(const ops::Stage& scatter) {
  return scatter.kind == ops::StageKind::scatter && !scatter.initial && choice_form(scatter);
}

void gather_scatters(ops::Program& program, const Capabilities& capabilities) {
  ops::Program result;
  for (ops::Entry& entry : program) {
    if (!entry.stage() || entry.stage()->kind != ops::StageKind::scatter ||
        (!capabilities.texture_memory && writes_a_row(*entry.stage()))) {
      result.push_back(std::move(entry));
      continue;
    }
    ops::Stage& stage = *entry.stage();
    const ir::Buffer state = stage.initial ? ir::Buffer() : stage.output;
    if (state) {
      stage.initial = state;
      stage.output = ir::buffer(state->name + ".next", state->dtype, state->shape);
    }
    result.emplace_back(gather_form(stage));
    if (!state) continue;
    ops::Stage step = ops::copy_stage(state->name + ".step", stage.output, state);
    step.origin = stage.origin;
    result.emplace_back(std::move(step));
  }
  program = std::move(result);
}

}  // namespace gossamer::schedule
