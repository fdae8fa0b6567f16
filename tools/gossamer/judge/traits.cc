// How a model's outputs are judged follows from its graph: quantized ones in steps.
#include <algorithm>
#include <cmath>

#include "gossamer/files/model_file.h"
#include "gossamer/judge/judge.h"
#include "ir/scalar.h"

namespace gossamer::command {
namespace {

bool quantizes(const graph::Node& node) {
  const std::string& name = node.def->name;
  return name == "QuantizeLinear" || name == "DynamicQuantizeLinear" || name.starts_with("QLinear");
}

const graph::Node* producer(const graph::Graph& graph, graph::ValueId value) {
  for (const graph::Node& node : graph.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end())
      return &node;
  return nullptr;
}

// The first element of a constant f32 scale; 0 where it is none.
double scale_of(const ModelFile& model, graph::ValueId value) {
  // Some exporters put copies between an initializer and its use.
  for (int hops = 0; hops < 8 && !model.graph.values[value].constant; ++hops) {
    const graph::Node* node = producer(model.graph, value);
    if (!node || node->inputs.size() != 1) return 0;
    value = node->inputs[0];
  }
  const auto& constant = model.graph.values[value].constant;
  if (!constant || constant->dtype != ir::DType::f32) return 0;
  const auto bytes = constant_bytes(model, *constant);
  if (!bytes || bytes->size() < 4) return 0;
  return ir::read_scalar(ir::DType::f32, bytes->data()).f;
}

// Follows the first inputs back from an output to the last quantization, for its scale.
double step_of(const ModelFile& model, graph::ValueId value) {
  for (int hops = 0; hops < 8; ++hops) {
    const graph::Node* node = producer(model.graph, value);
    if (!node || node->inputs.empty()) return 0;
    if ((node->def->name == "DequantizeLinear" || node->def->name == "QuantizeLinear") &&
        node->inputs.size() > 1)
      return scale_of(model, node->inputs[1]);
    value = node->inputs[0];
  }
  return 0;
}

}  // namespace

ModelTraits traits_of(const ModelFile& model) {
  ModelTraits traits;
  traits.quantized = std::any_of(model.graph.nodes.begin(), model.graph.nodes.end(), quantizes);
  for (graph::ValueId value : model.graph.outputs) {
    OutputTraits output;
    if (const graph::Node* node = producer(model.graph, value); node && quantizes(*node))
      output.tolerated_steps = 1;
    if (traits.quantized) output.step = step_of(model, value);
    traits.outputs.push_back(output);
  }
  return traits;
}

}  // namespace gossamer::command
