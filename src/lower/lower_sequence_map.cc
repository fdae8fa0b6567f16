#include "lower/lower_sequence_map.h"

#include <algorithm>

#include "ir/build.h"
#include "lower/control_tensors.h"
#include "lower/repeat.h"

namespace gossamer::lower {
namespace {

using graph::Graph;
using graph::no_value;
using graph::Node;
using graph::ValueId;

Expr length_of(const Item& sequence) {
  return sequence.packed ? ops::packed_length(*sequence.packed)
                         : ir::index(static_cast<int64_t>(sequence.elements.size()));
}

// One round for each element of sequences whose length is only known in the run.
Result<> map_in_rounds(const Node& node, Values& values, const std::vector<Item>& inputs,
                       GraphLowering& lowering) {
  const std::string place = cat("[SequenceMap] \"", node.name, "\"");
  StageBuilder& stages = lowering.stages();
  const Graph& body = *node.regions[0];
  Repeat what(node);
  what.condition = ir::index(1);
  what.rounds = length_of(inputs[0]);
  for (const Item& input : inputs) {
    if (!input.is_sequence()) continue;
    const Expr length = length_of(input);
    if (ir::prove_equal(length, what.rounds, stages.bounds)) continue;
    stages.add_check(length == what.rounds, cat(place, ": its sequences differ in length"));
  }
  what.initial.assign(node.outputs.size(), Item::sequence(std::vector<Tensor>()));
  what.inputs = [&](const ir::Var& round) -> std::vector<Tensor> {
    const ir::Buffer scalar = ir::buffer(cat(node.name, "/round"), ir::DType::i64, {});
    return {add_host_tensor(stages, scalar->name, scalar, {Expr(round)})};
  };
  what.rows = [](const ir::Var&) { return std::vector<Tensor>(); };
  what.body = [&](const std::vector<Item>& given) {
    return lowering.collect_region([&]() -> Result<std::vector<Item>> {
      std::vector<Item> samples;
      for (size_t i = 0; i < inputs.size(); ++i) {
        samples.push_back(inputs[i]);
        if (!inputs[i].is_sequence()) continue;
        GS_ASSIGN(samples.back(), lowering.lower_call("SequenceAt", cat(node.name, "/at", i),
                                                      {inputs[i], given[0]}, {}));
      }
      GS_ASSIGN(std::vector<Item> made, lowering.lower_inline(body, values, samples));
      made.resize(node.outputs.size());
      for (size_t i = 0; i < made.size(); ++i) {
        if (!made[i].tensor) return fail_at(place, "has a body that makes no tensor");
        GS_ASSIGN(made[i], lowering.lower_call("SequenceInsert", cat(node.name, "/insert", i),
                                               {given[1 + i], made[i]}, {}));
      }
      return made;
    });
  };
  GS_ASSIGN(std::vector<Item> results, lower_repeat(what, values, lowering));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value) values[node.outputs[i]] = std::move(results[i]);
  }
  return {};
}

}  // namespace

Result<> lower_sequence_map(const Node& node, Values& values, GraphLowering& lowering) {
  const std::string place = cat("[SequenceMap] \"", node.name, "\"");
  if (node.inputs.empty() || node.regions.size() != 1)
    return fail_at(place, "needs a sequence and a body");
  const Graph& body = *node.regions[0];
  if (body.inputs.size() != node.inputs.size() || body.outputs.size() < node.outputs.size())
    return fail_at(place, "has a body with another number of inputs or outputs than it has itself");
  std::vector<Item> inputs;
  for (ValueId id : node.inputs) {
    if (id == no_value) return fail_at(place, "lacks an input");
    inputs.push_back(lowering.stages().known.of(values[id]));
  }
  if (!inputs[0].is_sequence()) return fail_at(place, "its first input is no sequence");
  if (std::ranges::any_of(inputs, [](const Item& input) { return input.packed.has_value(); }))
    return map_in_rounds(node, values, inputs, lowering);
  const size_t length = inputs[0].elements.size();
  for (const Item& input : inputs) {
    if (input.is_sequence() && input.elements.size() != length)
      return fail_at(
          place, cat("its sequences have ", length, " and ", input.elements.size(), " elements"));
  }
  std::vector<std::vector<Tensor>> made(node.outputs.size());
  for (size_t at = 0; at < length; ++at) {
    std::vector<Item> samples;
    for (const Item& input : inputs)
      samples.push_back(input.is_sequence() ? Item(input.elements[at]) : input);
    GS_ASSIGN(const std::vector<Item> outputs, lowering.lower_inline(body, values, samples));
    for (size_t i = 0; i < made.size(); ++i) {
      if (!outputs[i].tensor) return fail_at(place, "has a body that makes no tensor");
      made[i].push_back(outputs[i].tensor);
    }
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (node.outputs[i] != no_value) values[node.outputs[i]] = Item::sequence(std::move(made[i]));
  }
  return {};
}

}  // namespace gossamer::lower
