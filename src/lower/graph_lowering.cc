#include "lower/graph_lowering.h"

#include <algorithm>

#include "graph/control_flow.h"
#include "ir/rewrite.h"
#include "lower/lower_gradient.h"
#include "lower/lower_if.h"
#include "lower/lower_loop.h"
#include "lower/lower_node.h"
#include "lower/lower_scan.h"
#include "lower/lower_sequence_map.h"
#include "stages/state_update.h"

namespace gossamer::lower {
namespace {

using graph::Capture;
using graph::Graph;
using graph::no_value;
using graph::Node;
using graph::Value;
using graph::ValueId;
using stages::StageConstant;

Result<> lower_control(const Node& node, Values& values, GraphLowering& lowering) {
  if (node.def == graph::control_flow_op("If")) return lower_if(node, values, lowering);
  if (node.def == graph::control_flow_op("Loop")) return lower_loop(node, values, lowering);
  if (node.def == graph::control_flow_op("SequenceMap"))
    return lower_sequence_map(node, values, lowering);
  return lower_scan(node, values, lowering);
}

}  // namespace

bool Region::uses_own(const Expr& expr) const {
  bool uses = false;
  ir::visit(expr, [&](const Expr& e) {
    const auto* var = ir::as<ir::VarNode>(e);
    uses = uses || (var && variables.contains(var));
    return !uses;
  });
  return uses;
}

Values GraphLowering::add_constants(const Graph& graph) {
  Values values(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.constant) values[i] = stages_.add_constant(value.name, *value.constant);
  }
  return values;
}

Result<> GraphLowering::lower_nodes(const Graph& graph, Values& values) {
  const std::unordered_set<ValueId> variables = gradient_variables(graph);
  for (ValueId id : variables) values[id].tensor.host.reset();
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) {
      if (id == no_value) continue;
      GS_CHECK(values[id], "[", node.def->name, "] \"", node.name, "\" reads ",
               graph.values[id].name, " before it is made");
    }
    if (node.def == graph::control_flow_op(node.def->name)) {
      GS_TRY(lower_control(node, values, *this));
    } else if (is_gradient(node)) {
      GS_TRY(lower_gradient(graph, node, values, *this));
    } else {
      GS_TRY(lower_defined(graph, node, values));
    }
    for (ValueId id : node.outputs) {
      if (id != no_value && variables.contains(id)) set_apart(graph, node, values, id);
    }
  }
  return {};
}

// A copy, where the tensor may be another value's as well, or a constant.
void GraphLowering::set_apart(const Graph& graph, const Node& node, Values& values, ValueId id) {
  Tensor& tensor = values[id].tensor;
  if (!tensor || !ir::is_float(tensor.dtype())) return;
  tensor.host.reset();
  const auto is_it = [&](const Item& item) {
    return &item != &values[id] && item.tensor && item.tensor.buffer.same(tensor.buffer);
  };
  const auto& constants = stages_.constants();
  const bool constant = std::ranges::any_of(
      constants, [&](const StageConstant& one) { return one.buffer.same(tensor.buffer); });
  if (!constant && std::ranges::none_of(values, is_it)) return;
  const ir::Buffer own = ir::buffer(graph.values[id].name, tensor.dtype(), tensor.shape());
  stages::Stage stage = stages::copy_stage(cat(own->name, ".own"), tensor.buffer, own);
  stage.origin = stages_.unique_origin(cat(node.def->name, " \"", node.name, "\""));
  stages_.append(std::move(stage));
  tensor = {own, std::nullopt};
}

Result<> GraphLowering::lower_defined(const Graph& graph, const Node& node, Values& values) {
  std::vector<Item> inputs;
  for (ValueId id : node.inputs)
    inputs.push_back(id == no_value ? Item() : stages_.known.of(values[id]));
  ops::Builder builder(*node.def, node.name, std::move(inputs), node.attributes,
                       static_cast<int>(node.outputs.size()));
  offer_regions(node, values, builder);
  return lower_as(graph, node, builder, values);
}

Result<> GraphLowering::lower_as(const Graph& graph, const Node& node, ops::Builder& builder,
                                 Values& values) {
  builder.catalog = &catalog_;
  std::vector<std::optional<std::string>> names(node.outputs.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (node.outputs[i] != no_value) names[i] = graph.values[node.outputs[i]].name;
  }
  GS_ASSIGN(std::vector<Item> made, lower_node(builder, names, most_, stages_));
  for (size_t i = 0; i < names.size(); ++i) {
    if (node.outputs[i] != no_value) values[node.outputs[i]] = std::move(made[i]);
  }
  return {};
}

Result<Item> GraphLowering::lower_call(std::string_view op, const std::string& name,
                                       std::vector<Item> inputs, ops::Attributes attributes) {
  ops::Builder builder(*catalog_.find("", op), name, std::move(inputs), std::move(attributes), 1);
  builder.catalog = &catalog_;
  GS_ASSIGN(std::vector<Item> made, lower_node(builder, {}, most_, stages_));
  return std::move(made[0]);
}

Result<Item> GraphLowering::pack_sequence(const std::string& name, const Item& sequence,
                                          const ops::SequenceForm& form) {
  ops::OpDef def{
      .name = "Sequence", .doc = "", .since = 1, .inputs = {}, .define = {}, .cases = [] {
        return ops::Cases();
      }};
  def.inputs = {{"sequence", ops::any_element, ops::InputDef::required, ops::InputDef::sequence}};
  def.define = [&](ops::Builder& b) -> Result<> {
    GS_ASSIGN(ops::Packed packed, ops::packed_as(b, b.item(0), form));
    b.output_item(0, Item::packed_sequence(std::move(packed)));
    return {};
  };
  ops::Builder builder(def, name, {sequence}, {}, 1);
  builder.catalog = &catalog_;
  GS_ASSIGN(std::vector<Item> made, lower_node(builder, {}, most_, stages_));
  return std::move(made[0]);
}

Result<Region> GraphLowering::lower_region(const Graph& graph, const Values& outer,
                                           const std::vector<Item>& inputs) {
  GS_CHECK(graph.inputs.size() == inputs.size(), "inputs of a region");
  return collect_region([&]() -> Result<std::vector<Item>> {
    Values inner = add_constants(graph);
    for (const Capture& capture : graph.captures) {
      if (!outer[capture.outer]) return fail_at(graph.name, "uses a value before it is made");
      inner[capture.inner] = stages_.known.of(outer[capture.outer]);
    }
    for (size_t i = 0; i < inputs.size(); ++i) inner[graph.inputs[i]] = inputs[i];
    GS_TRY(lower_nodes(graph, inner));
    std::vector<Item> outputs;
    for (ValueId id : graph.outputs) outputs.push_back(inner[id]);
    return outputs;
  });
}

Result<Region> GraphLowering::collect_region(
    const std::function<Result<std::vector<Item>>()>& lower) {
  Region region;
  const size_t start = stages_.program().size();
  const KnownElements known = stages_.known;
  GS_ASSIGN(region.outputs, lower());
  for (Item& output : region.outputs) output = stages_.known.of(std::move(output));
  stages_.known = known;  // what a region read is not known outside of it
  region.program = stages_.cut(start);
  for (const ir::Var& var : stages::variables_of(region.program))
    region.variables.insert(var.get());
  return region;
}

Result<std::vector<Item>> GraphLowering::lower_inline(const Graph& graph, const Values& outer,
                                                      const std::vector<Item>& inputs) {
  GS_ASSIGN(Region region, lower_region(graph, outer, inputs));
  stages_.append(std::move(region.program));
  return std::move(region.outputs);
}

void GraphLowering::offer_regions(const Node& node, const Values& values, ops::Builder& builder) {
  for (size_t i = 0; i < node.regions.size(); ++i) {
    builder.regions.emplace_back();
    if (!node.regions[i]) continue;
    const Graph& graph = *node.regions[i];
    builder.regions.back() = [this, &graph, &values](std::vector<Tensor> inputs) {
      return inline_region(graph, values, inputs);
    };
  }
}

Result<ops::Builder::Inlined> GraphLowering::inline_region(const Graph& graph, const Values& values,
                                                           const std::vector<Tensor>& inputs) {
  if (graph.inputs.size() != inputs.size()) {
    return fail(cat("its graph \"", graph.name, "\" has ", graph.inputs.size(),
                    " inputs, it is given ", inputs.size()));
  }
  GS_ASSIGN(Region region,
            lower_region(graph, values, std::vector<Item>(inputs.begin(), inputs.end())));
  ops::Builder::Inlined made{std::move(region.program), {}};
  for (Item& output : region.outputs) {
    if (!output.tensor) return fail(cat("its graph \"", graph.name, "\" makes what is no tensor"));
    made.outputs.push_back(std::move(output.tensor));
  }
  return made;
}

}  // namespace gossamer::lower
