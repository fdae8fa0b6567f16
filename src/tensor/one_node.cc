#include "tensor/one_node.h"

#include "graph/stage_graph.h"
#include "ir/build.h"
#include "ir/simplify.h"

namespace gossamer::tensor {

Result<std::vector<OneNodeOutput>> outputs_of(const ops::OpDef& def,
                                              const ops::Attributes& attributes,
                                              std::span<const OneNodeInput> inputs, size_t outputs,
                                              const ops::Catalog& catalog) {
  graph::Graph graph;
  graph::Node node;
  node.def = &def;
  node.name = def.name;
  node.attributes = attributes;
  for (const OneNodeInput& input : inputs) {
    if (input.absent) {
      node.inputs.push_back(graph::no_value);
      continue;
    }
    graph::Value value;
    value.name = cat("input ", node.inputs.size());
    value.dtype = input.dtype;
    value.shape_known = true;
    for (int64_t extent : input.shape) value.shape.push_back(ir::index(extent));
    if (input.constant) value.constant = graph::source_of(*input.constant);
    const graph::ValueId id = graph.add_value(std::move(value));
    if (!input.constant) graph.inputs.push_back(id);
    node.inputs.push_back(id);
  }
  for (size_t i = 0; i < outputs; ++i) {
    graph::Value value;
    value.name = cat("output ", i);
    const graph::ValueId id = graph.add_value(std::move(value));
    node.outputs.push_back(id);
    graph.outputs.push_back(id);
  }
  graph.nodes.push_back(std::move(node));
  GS_ASSIGN(const graph::StageGraph stages, graph::lower(graph, catalog));
  std::vector<OneNodeOutput> made;
  for (const graph::StageOutput& output : stages.outputs) {
    OneNodeOutput one{output.buffer->dtype, {}};
    for (const ir::Expr& extent : output.buffer->shape)
      one.shape.push_back(ir::as_int(ir::simplify(extent)).value_or(-1));
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace gossamer::tensor
