#include "graph/lower_sequence_map.h"

namespace gossamer::graph {

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

}  // namespace gossamer::graph
