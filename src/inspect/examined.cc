#include "inspect/examined.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"
#include "codegen/plan_function.h"
#include "graph/control_flow.h"
#include "lower/graph_lowering.h"
#include "lower/lower.h"
#include "lower/lower_gradient.h"
#include "lower/stage_builder.h"
#include "onnx/proto.h"
#include "onnx/reader.h"
#include "onnx/tensor.h"
#include "ops/builder.h"

namespace gossamer::inspect {
namespace {

using graph::no_value;
using graph::ValueId;

// What marks the entries of unknown operators: no operator is of this version.
constexpr int unknown_since = 0;

// Adds an entry that only fails for each operator that the catalog lacks.
class UnknownOperators {
 public:
  UnknownOperators(const onnx::ProtoModel& model, ops::Catalog& catalog) : catalog_(catalog) {
    for (const onnx::ProtoFunction& function : model.functions)
      functions_.emplace(plain(function.domain), function.name);
    for (const onnx::ProtoFunction& function : model.functions) look(function.nodes);
    if (model.graph) look(model.graph->nodes);
  }

 private:
  static std::string plain(std::string_view domain) {
    return domain == "ai.onnx" ? std::string() : std::string(domain);
  }

  void look(const std::vector<onnx::ProtoNode>& nodes) {
    for (const onnx::ProtoNode& node : nodes) {
      std::vector<std::string> regions;
      for (const onnx::ProtoAttribute& attribute : node.attributes) {
        for (const auto& body : attribute.bodies) {
          if (!body) continue;
          look(body->nodes);
          regions.emplace_back(attribute.name);
        }
      }
      add(node, std::move(regions));
    }
  }

  void add(const onnx::ProtoNode& node, std::vector<std::string> regions) {
    const std::string domain = plain(node.domain), op(node.op);
    const bool known = functions_.contains({domain, op}) || catalog_.find(domain, op) ||
                       (domain.empty() && (op == "Constant" || graph::control_flow_op(op))) ||
                       graph::gradient_op(domain, op);
    if (known) return;
    ops::OpDef entry{.name = op,
                     .doc = "",
                     .since = unknown_since,
                     .inputs = {},
                     .define = [](ops::Builder& b) { return b.error("is an unknown operator"); },
                     .cases = [] { return ops::Cases(); }};
    entry.domain = domain;
    entry.regions = std::move(regions);
    catalog_.add(std::move(entry));
  }

  ops::Catalog& catalog_;
  std::set<std::pair<std::string, std::string>> functions_;
};

Diagnostic unknown(const ops::OpDef& def) {
  return {"",
          def.domain.empty() ? "is an unknown operator"
                             : cat("is an unknown operator of the domain ", def.domain),
          "write it as a composition of known operators (docs/specs/operator.md), or export the "
          "model without it"};
}

// The unknown operator in a node or its regions; null: there is none.
const ops::OpDef* unknown_in(const graph::Node& node) {
  if (node.def->since == unknown_since) return node.def;
  for (const auto& region : node.regions) {
    if (!region) continue;
    for (const graph::Node& inner : region->nodes)
      if (const ops::OpDef* found = unknown_in(inner)) return found;
  }
  return nullptr;
}

// Lowers node after node, so that an error of one leaves the others' shapes.
class Shapes {
 public:
  Shapes(Examined& examined, const onnx::ProtoGraph& file)
      : examined_(examined), graph_(examined.subject.graph), stages_(signature(), bounds()) {
    for (const auto* list : {&file.values, &file.outputs})
      for (const onnx::ProtoValue& value : *list) declared_[std::string(value.name)] = &value;
  }

  void infer() {
    lower::GraphLowering lowering(*examined_.catalog, lower::most_elements, stages_);
    lower::Values values = lowering.add_constants(graph_);
    for (size_t i = 0; i < graph_.inputs.size(); ++i) values[graph_.inputs[i]] = inputs_[i];
    std::vector<graph::Node> nodes = std::exchange(graph_.nodes, {});
    examined_.problems.resize(nodes.size());
    examined_.unchecked.resize(nodes.size());
    for (size_t at = 0; at < nodes.size(); ++at) {
      graph::Node& node = nodes[at];
      std::optional<Diagnostic>& problem = examined_.problems[at];
      if (const ops::OpDef* found = unknown_in(node)) {
        problem = unknown(*found);
        if (found != node.def) problem->where = cat("[", found->name, "]");
      } else if (!is_ready(node, values)) {
        examined_.unchecked[at] = true;
      } else {
        graph_.nodes.push_back(std::move(node));
        if (auto done = lowering.lower_nodes(graph_, values); !done) problem = done.error();
        node = std::move(graph_.nodes.front());
        graph_.nodes.clear();
      }
      for (const ValueId id : node.outputs) {
        if (id == no_value) continue;
        if (!values[id]) values[id] = declared(graph_.values[id].name);
        note(id, values[id]);
      }
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  stages::StageGraph signature() {
    stages::StageGraph made;
    made.name = graph_.name;
    made.dims = graph_.dims;
    for (const ValueId id : graph_.inputs) {
      const graph::Value& value = graph_.values[id];
      ops::Tensor tensor{ir::buffer(value.name, value.dtype, value.shape), std::nullopt};
      if (value.dtype == ir::DType::string) {
        std::vector<ir::Expr> wide = value.shape;
        wide.push_back(ir::var(cat(value.name, ".width")));
        tensor.bytes = ir::buffer(value.name, ir::DType::u8, std::move(wide));
        tensor.lengths = ir::buffer(cat(value.name, ".lengths"), ir::DType::i32, value.shape);
      } else {
        made.inputs.push_back({value.name, tensor.buffer});
      }
      inputs_.push_back(std::move(tensor));
    }
    return made;
  }

  ir::Bounds bounds() const {
    ir::Bounds made;
    for (const stages::Dim& dim : graph_.dims) made.set(dim.var.get(), {0, codegen::largest_dim});
    return made;
  }

  static bool is_ready(const graph::Node& node, const lower::Values& values) {
    const auto missing = [&](ValueId id) { return id != no_value && !values[id]; };
    if (std::ranges::any_of(node.inputs, missing)) return false;
    return std::ranges::none_of(node.regions, [&](const auto& region) {
      return region && std::ranges::any_of(region->captures, [&](const graph::Capture& capture) {
               return missing(capture.outer);
             });
    });
  }

  // A tensor of the shape that the file states, with which the nodes after a problem are checked.
  ops::Tensor declared(const std::string& name) {
    const auto found = declared_.find(name);
    if (found == declared_.end() || !found->second->is_tensor || !found->second->has_shape)
      return {};
    const auto dtype = onnx::dtype_of(found->second->element_type);
    if (!dtype || *dtype == ir::DType::string) return {};
    std::vector<ir::Expr> shape;
    for (size_t axis = 0; axis < found->second->dims.size(); ++axis) {
      const onnx::ProtoDim& dim = found->second->dims[axis];
      if (dim.value && *dim.value < 0) return {};
      shape.push_back(dim.value ? ir::index(*dim.value) : dimension(dim, name, axis));
    }
    return {ir::buffer(name, *dtype, std::move(shape)), std::nullopt};
  }

  ir::Expr dimension(const onnx::ProtoDim& dim, const std::string& name, size_t axis) {
    const std::string called = onnx::name_of_dim(dim, name, axis);
    for (const stages::Dim& known : graph_.dims)
      if (known.var->name == called) return known.var;
    const auto [found, fresh] = dimensions_.try_emplace(called, ir::var(called));
    if (fresh) stages_.bounds.set(found->second.get(), {0, codegen::largest_dim});
    return found->second;
  }

  void note(ValueId id, const ops::Item& item) {
    if (!item.tensor) return;
    graph::Value& value = graph_.values[id];
    value.dtype = item.tensor.dtype();
    value.shape = item.tensor.shape();
    value.shape_known = true;
  }

  Examined& examined_;
  graph::Graph& graph_;
  std::vector<ops::Tensor> inputs_;
  std::map<std::string, const onnx::ProtoValue*, std::less<>> declared_;
  std::map<std::string, ir::Var> dimensions_;  // of values that only the file states
  lower::StageBuilder stages_;
};

}  // namespace

Result<Examined> examine(std::span<const std::byte> model, onnx::ExternalFiles* external,
                         onnx::Known known) {
  Examined made{{model, external, std::move(known), {}},
                std::make_unique<ops::Catalog>(ops::builtin_catalog()),
                {},
                {}};
  GS_ASSIGN(const onnx::ProtoModel proto, onnx::parse_model(model));
  const UnknownOperators added(proto, *made.catalog);
  onnx::ReadOptions options;
  options.catalog = made.catalog.get();
  options.known = made.subject.known;
  options.external = external;
  GS_ASSIGN(made.subject.graph, onnx::read_model(model, options));
  Shapes(made, *proto.graph).infer();
  return made;
}

}  // namespace gossamer::inspect
