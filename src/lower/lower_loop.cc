#include "lower/lower_loop.h"

#include <algorithm>

#include "ir/build.h"
#include "lower/control_tensors.h"
#include "lower/repeat.h"
#include "lower/unroll_loop.h"

namespace gossamer::lower {
namespace {

using graph::no_value;
using graph::Node;

constexpr int64_t most_unrolled = 64;  // rounds, where a loop would do but for its body
constexpr int64_t most_rounds_of_lists = 4096;

// How often, and what the node carries.
Result<> read_inputs(const Node& node, const Values& values, StageBuilder& stages, Repeat& what) {
  const std::string place = cat("[Loop] \"", node.name, "\"");
  what.has_condition = true;
  what.first_state = 2;
  what.rounds = ir::index(most_rounds);
  what.condition = ir::index(1);
  if (node.inputs[0] != no_value) {
    auto count = scalar_value(stages, values[node.inputs[0]], "the trip count");
    if (!count) return fail_at(place, count.error().message);
    what.wanted = ir::simplify(*count, stages.bounds);
    what.rounds =
        ir::simplify(ir::min(ir::max(*count, ir::index(0)), ir::index(most_rounds)), stages.bounds);
  }
  if (node.inputs[1] != no_value) {
    auto condition = scalar_value(stages, values[node.inputs[1]], "the condition");
    if (!condition) return fail_at(place, condition.error().message);
    what.condition = ir::simplify(*condition, stages.bounds);
    if (ir::is_const(what.condition, 0)) what.rounds = ir::index(0);
  }
  for (size_t k = 2; k < node.inputs.size(); ++k) {
    if (node.inputs[k] == no_value) return fail_at(place, "lacks a value that it carries");
    what.initial.push_back(stages.known.of(values[node.inputs[k]]));
  }
  what.inputs = [&](const ir::Var& round) -> std::vector<Tensor> {
    const ir::Buffer scalar = ir::buffer(cat(node.name, "/round"), ir::DType::i64, {});
    const ir::Buffer flag = ir::buffer(cat(node.name, "/again"), ir::DType::boolean, {});
    return {add_host_tensor(stages, scalar->name, scalar, {Expr(round)}),
            add_host_tensor(stages, flag->name, flag, {ir::index(1)})};
  };
  what.rows = [](const ir::Var&) { return std::vector<Tensor>(); };
  return {};
}

}  // namespace

Result<> lower_loop(const Node& node, Values& values, GraphLowering& lowering) {
  const std::string place = cat("[Loop] \"", node.name, "\"");
  if (node.inputs.size() < 2 || node.regions.size() != 1) {
    return fail_at(place, "needs a trip count, a condition and a body");
  }
  StageBuilder& stages = lowering.stages();
  Repeat what(node);
  GS_TRY(read_inputs(node, values, stages, what));
  const auto rounds = ir::as_int(what.rounds);
  const bool may_unroll = rounds && ir::as_int(what.condition);
  const auto any_of_kind = [&](Item::Kind kind) {
    return std::ranges::any_of(what.initial, [&](const Item& item) { return item.kind == kind; });
  };
  const bool carries_lists = any_of_kind(Item::Kind::sequence);
  const StageBuilder before = stages;
  // Rounds that are known keep the lengths of sequences known, too.
  if (carries_lists || any_of_kind(Item::Kind::nothing)) {
    if (may_unroll && *rounds <= most_rounds_of_lists) {
      auto unrolled = unroll_loop(node, values, *rounds, lowering);
      if (unrolled || !carries_lists) return unrolled;
      stages = before;
    } else if (any_of_kind(Item::Kind::nothing)) {
      return fail_at(place,
                     "carries an optional that holds nothing, so its trip count and its condition "
                     "must be known when compiling",
                     "make them constants, or compute them from shapes and lengths of sequences");
    }
  }
  auto results = lower_repeat(what, values, lowering);
  if (!results) {
    // Rounds that differ in more than numbers, when they are few.
    if (carries_lists || !may_unroll || *rounds > most_unrolled)
      return std::unexpected(std::move(results).error());
    stages = before;
    if (unroll_loop(node, values, *rounds, lowering)) return {};
    return std::unexpected(std::move(results).error());
  }
  for (size_t i = 0; i < node.outputs.size() && i < results->size(); ++i) {
    if (node.outputs[i] != no_value) values[node.outputs[i]] = std::move((*results)[i]);
  }
  return {};
}

}  // namespace gossamer::lower
