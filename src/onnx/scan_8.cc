// Scan as it was up to opset 8: over a batch of sequences, of which each may have a length of its
// own. That is a Scan along the batch around one along the sequences.
#include <algorithm>

#include "graph/control_flow.h"
#include "onnx/importer.h"

namespace gossamer::onnx {
namespace {

using graph::ValueId;

// A body's states stay as they are in rounds past the sequence's length: one more state counts
// the rounds. `length` is of the graph around the body.
Result<> end_early(graph::Node& scan, size_t states, ValueId zero, ValueId one, ValueId length,
                   const ops::Catalog& catalog) {
  graph::Graph& body = *scan.regions[0];
  if (body.inputs.size() < states || body.outputs.size() < states)
    return fail("has a body with fewer inputs or outputs than states");
  const auto at = static_cast<std::ptrdiff_t>(states);
  const auto add = [&](const std::string& name, ir::DType dtype) {
    graph::Value value;
    value.name = cat(scan.name, "/", name);
    value.dtype = dtype;
    return body.add_value(std::move(value));
  };
  const auto call = [&](std::string_view op, std::vector<ValueId> inputs, ir::DType dtype) {
    const ValueId made = add(cat(op, ".", body.nodes.size()), dtype);
    graph::Node node;
    node.def = catalog.find("", op);
    node.name = body.values[made].name;
    node.inputs = std::move(inputs);
    node.outputs = {made};
    body.nodes.push_back(std::move(node));
    return made;
  };
  const ValueId round = add("round", ir::DType::i64), step = add("step", ir::DType::i64);
  const ValueId end = add("length", ir::DType::i64);
  body.captures.push_back({one, step});
  body.captures.push_back({length, end});
  const ValueId going = call("Less", {round, end}, ir::DType::boolean);
  for (size_t k = 0; k < states; ++k) {
    const ir::DType dtype = body.values[body.outputs[k]].dtype;
    body.outputs[k] = call("Where", {going, body.outputs[k], body.inputs[k]}, dtype);
  }
  body.outputs.insert(body.outputs.begin() + at, call("Add", {round, step}, ir::DType::i64));
  body.inputs.insert(body.inputs.begin() + at, round);
  scan.inputs.insert(scan.inputs.begin() + at, zero);
  scan.outputs.insert(scan.outputs.begin() + at, graph::no_value);
  return {};
}

}  // namespace

Result<> Importer::import_scan_8(const ImportNode& node, Scope& scope) {
  int64_t scanned = 0;
  std::vector<int64_t> directions;
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* number = std::get_if<int64_t>(&attribute); number && name == "num_scan_inputs")
      scanned = *number;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) directions = *list;
  }
  const auto given = static_cast<int64_t>(node.inputs.size()) - 1;
  if (scanned < 1 || scanned > given) return fail("needs at least one input to scan");
  const auto states = static_cast<size_t>(given - scanned);
  const bool has_lengths = !node.inputs[0].empty();
  if (has_lengths && std::ranges::find(directions, 1) != directions.end()) {
    return fail("goes backwards through sequences of different lengths, which is not supported",
                "export the model with opset 9 or later");
  }

  // The graph of one sequence.
  auto middle = std::make_shared<graph::Graph>();
  Scope inner = region_scope(scope, *middle);
  ImportNode along{"Scan", "", node.name, {}, {}, {}, node.bodies};
  std::vector<std::string> outer_inputs;
  ValueId length = graph::no_value;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) {
      if (i > 0) return fail("lacks an input");
      continue;
    }
    outer_inputs.push_back(node.inputs[i]);
    // No name of the model's.
    const std::string name = cat(node.name, "\n", i);
    graph::Value value;
    value.name = cat(node.name, "/", node.inputs[i]);
    value.dtype = facts(scope, node.inputs[i]).dtype.value_or(ir::DType::f32);
    const ValueId id = middle->add_value(std::move(value));
    GS_TRY(define(inner, name, id));
    middle->inputs.push_back(id);
    if (i > 0)
      along.inputs.push_back(name);
    else
      length = id;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i)
    along.outputs.push_back(cat(node.name, "\nout", i));
  along.attributes["num_scan_inputs"] = scanned;
  if (!directions.empty()) along.attributes["scan_input_directions"] = directions;
  const std::vector<std::string> results = along.outputs;
  GS_TRY(emit(std::move(along), inner));
  for (const std::string& name : results) {
    const auto made = find(inner, name);
    if (!made) return fail("has more outputs than its body makes");
    middle->outputs.push_back(*made);
  }
  if (has_lengths) {
    const auto number = [&](int64_t value) {
      stages::ConstantSource source;
      source.dtype = ir::DType::i64;
      source.bytes = ops::int64s({}, {value}).bytes;
      return add_constant(inner, cat(node.name, "\n#", value), std::move(source));
    };
    const ValueId zero = number(0), one = number(1);
    GS_TRY(end_early(middle->nodes.back(), states, zero, one, length, catalog_));
  }

  graph::Node outer;
  outer.name = scope.prefix + node.name;
  outer.def = graph::control_flow_op("Scan");
  outer.attributes["num_scan_inputs"] = static_cast<int64_t>(outer_inputs.size());
  outer.regions.push_back(std::move(middle));
  for (const std::string& name : outer_inputs) {
    const auto found = find(scope, name);
    if (!found) return fail(cat("uses the value \"", name, "\", which nothing makes"));
    outer.inputs.push_back(*found);
  }
  for (const std::string& name : node.outputs) {
    if (name.empty()) {
      outer.outputs.push_back(graph::no_value);
      continue;
    }
    graph::Value value;
    value.name = scope.prefix + name;
    const ValueId id = scope.graph->add_value(std::move(value));
    GS_TRY(define(scope, name, id));
    outer.outputs.push_back(id);
  }
  scope.graph->nodes.push_back(std::move(outer));
  return {};
}

}  // namespace gossamer::onnx
