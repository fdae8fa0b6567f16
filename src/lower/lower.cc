// From nodes to stages: runs every node's definition in order, with shapes and host values flowing
// along. Here are the two ends, inputs and outputs of the model.
#include <algorithm>

#include "graph/fuse_quantized.h"
#include "ir/build.h"
#include "lower/graph_lowering.h"
#include "lower/stage_builder.h"

namespace gossamer::lower {
namespace {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;
using stages::Dim;
using stages::StageGraph;

constexpr int64_t max_dim = (int64_t{1} << 31) - 1;

// A stage graph before its first stage.
struct Signature {
  StageGraph graph;
  ir::Bounds bounds;           // of its dimensions
  std::vector<Tensor> inputs;  // of the model
};

void add_dims(const Graph& graph, Signature& signature) {
  for (const Dim& dim : graph.dims) signature.bounds.set(dim.var.get(), {0, max_dim});
}

// A tensor of strings is two inputs: the numbers of those behind it are greater than the model's.
Result<> add_inputs(const Graph& graph, Signature& signature) {
  StageGraph& made = signature.graph;
  std::vector<int> numbers;
  for (ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    if (!value.shape_known) return fail_at(cat("input \"", value.name, "\""), "has no shape");
    const auto number = static_cast<int>(made.inputs.size());
    numbers.push_back(number);
    Tensor tensor{ir::buffer(value.name, value.dtype, value.shape), std::nullopt};
    if (value.dtype == ir::DType::string) {
      const ir::Var width = ir::var(value.name + ".width");
      signature.bounds.set(width.get(), {1, max_dim});
      std::vector<Expr> wide = value.shape;
      wide.push_back(width);
      made.dims.push_back({width, number, static_cast<int>(value.shape.size())});
      tensor.bytes = ir::buffer(value.name, ir::DType::u8, std::move(wide));
      tensor.lengths = ir::buffer(value.name + ".lengths", ir::DType::i32, value.shape);
      made.inputs.push_back({value.name, tensor.bytes, true});
      made.inputs.push_back({value.name + ".lengths", tensor.lengths});
    } else {
      made.inputs.push_back({value.name, tensor.buffer});
    }
    signature.inputs.push_back(std::move(tensor));
  }
  // Those of the graph stand first.
  std::vector<Dim> dims;
  for (const Dim& dim : graph.dims)
    dims.push_back({dim.var, numbers[static_cast<size_t>(dim.input)], dim.axis});
  made.dims.insert(made.dims.begin(), dims.begin(), dims.end());
  made.groups = graph.groups;
  return {};
}

// A sequence is an output an element, and strings are two.
Result<> add_outputs(const Graph& graph, const Values& values, StageGraph& made) {
  int count = 0;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    ++count;
    if (tensor.dtype() == ir::DType::string) {
      made.outputs.push_back({name, tensor.bytes, true});
      made.outputs.push_back({name + ".lengths", tensor.lengths});
    } else {
      made.outputs.push_back({name, tensor.buffer});
    }
  };
  for (ValueId id : graph.outputs) {
    const Item& item = values[id];
    const std::string& name = graph.values[id].name;
    GS_CHECK(item, "output ", name, " was not made");
    if (item.tensor) {
      add(name, item.tensor);
      continue;
    }
    if (item.packed) {
      return fail_at(cat("output \"", name, "\""),
                     "is a sequence, whose length must be known when compiling",
                     "join it by ConcatFromSequence, or give the shapes of the model's inputs");
    }
    const int first = count;
    for (size_t i = 0; i < item.elements.size(); ++i)
      add(graph::element_name(name, i), item.elements[i]);
    made.groups.push_back({name, item.is_sequence(), true, first, count - first});
  }
  return {};
}

Result<StageGraph> lower_model(const Graph& graph, const ops::Catalog& catalog, int64_t most) {
  Signature signature;
  signature.graph.name = graph.name;
  add_dims(graph, signature);
  GS_TRY(add_inputs(graph, signature));
  StageBuilder stages(std::move(signature.graph), std::move(signature.bounds));
  GraphLowering lowering(catalog, most, stages);
  Values values = lowering.add_constants(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    values[graph.inputs[i]] = std::move(signature.inputs[i]);
  GS_TRY(lowering.lower_nodes(graph, values));
  StageGraph made = stages.finish();
  GS_TRY(add_outputs(graph, values, made));
  drop_dead(made);
  return made;
}

}  // namespace

Result<StageGraph> lower(const Graph& graph, const ops::Catalog& catalog, int64_t most) {
  const bool quantizes = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return node.def->name == "QuantizeLinear"; });
  if (quantizes) return lower_model(fuse_quantized(graph, catalog), catalog, most);
  return lower_model(graph, catalog, most);
}

}  // namespace gossamer::lower
