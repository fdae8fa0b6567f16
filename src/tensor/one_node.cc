#include "tensor/one_node.h"

#include "ir/build.h"
#include "ir/simplify.h"
#include "lower/lower.h"
#include "stages/stage_graph.h"

namespace gossamer::tensor {

namespace {

graph::Value value_of(const OneNodeInput& input, std::string name) {
  graph::Value value;
  value.name = std::move(name);
  value.dtype = input.dtype;
  value.shape_known = true;
  for (int64_t extent : input.shape) value.shape.push_back(ir::index(extent));
  if (input.constant) value.constant = graph::source_of(*input.constant);
  return value;
}

// The elements of an output that lowering found to be constant.
std::optional<ops::TensorData> elements_of(const stages::StageGraph& stages,
                                           const ir::Buffer& buffer) {
  for (const stages::StageConstant& constant : stages.constants) {
    if (!constant.buffer.same(buffer)) continue;
    const stages::ConstantSource& source = constant.source;
    if (source.file >= 0 || source.dtype == ir::DType::string) return std::nullopt;
    return ops::TensorData{source.dtype, source.shape, source.bytes};
  }
  return std::nullopt;
}

}  // namespace

Regions with_captures(const Regions& regions, std::span<const graph::ValueId> captured) {
  Regions made;
  for (const auto& region : regions) {
    made.push_back(region ? std::make_shared<graph::Graph>(*region) : nullptr);
    if (!region) continue;
    for (graph::Capture& capture : made.back()->captures) capture.outer = captured[capture.outer];
  }
  return made;
}

Result<std::vector<OneNodeOutput>> outputs_of(const OneNode& one,
                                              std::span<const OneNodeInput> inputs, size_t outputs,
                                              const ops::Catalog& catalog) {
  graph::Graph graph;
  graph::Node node;
  node.def = one.def;
  node.name = one.def->name;
  node.attributes = one.attributes;
  for (const OneNodeInput& input : inputs) {
    if (input.absent) {
      node.inputs.push_back(graph::no_value);
      continue;
    }
    const graph::ValueId id = graph.add_value(value_of(input, cat("input ", node.inputs.size())));
    if (!input.constant) graph.inputs.push_back(id);
    node.inputs.push_back(id);
  }
  if (!one.regions.empty()) {
    const auto captured = std::span(node.inputs).subspan(one.own_inputs);
    node.regions = with_captures(one.regions, captured);
    node.inputs.resize(one.own_inputs);
  }
  for (size_t i = 0; i < outputs; ++i) {
    graph::Value value;
    value.name = cat("output ", i);
    const graph::ValueId id = graph.add_value(std::move(value));
    node.outputs.push_back(id);
    graph.outputs.push_back(id);
  }
  graph.nodes.push_back(std::move(node));
  GS_ASSIGN(const stages::StageGraph stages, lower::lower(graph, catalog));
  std::vector<OneNodeOutput> made;
  for (const stages::StageOutput& output : stages.outputs) {
    OneNodeOutput told{output.buffer->dtype, {}, elements_of(stages, output.buffer)};
    for (const ir::Expr& extent : output.buffer->shape)
      told.shape.push_back(ir::as_int(ir::simplify(extent)).value_or(-1));
    made.push_back(std::move(told));
  }
  if (made.size() != outputs)
    return fail("makes strings or sequences", "only tensors of numbers can be recorded");
  return made;
}

}  // namespace gossamer::tensor
