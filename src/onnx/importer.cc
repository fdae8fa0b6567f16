#include "onnx/importer.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "graph/control_flow.h"
#include "graph/gradient_op.h"
#include "ir/build.h"
#include "onnx/facts.h"
#include "onnx/order.h"

namespace gossamer::onnx {
namespace {

using graph::no_value;
using graph::ValueId;

constexpr int64_t max_nodes = 1'000'000;
constexpr int max_depth = 64;
constexpr int64_t max_length = 4096;  // of a sequence

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
  return cat(domain == "ai.onnx" ? "" : domain, ":", name, ":", overload);
}

std::string place_of(const ImportNode& node) { return cat("[", node.op, "] \"", node.name, "\""); }

// Says where, unless something closer to the trouble has.
Result<> located(Result<> result, const std::string& where) {
  if (!result && result.error().where.empty()) result.error().where = where;
  return result;
}

}  // namespace

Importer::Importer(const ProtoModel& model, Bytes bytes, const ReadOptions& options)
    : model_(model),
      bytes_(bytes),
      options_(options),
      catalog_(options.catalog ? *options.catalog : ops::builtin_catalog()) {}

Result<graph::Graph> Importer::import() {
  GS_TRY(read_opsets(model_.opsets, opsets_));
  if (model_.opsets.empty() && model_.ir_version < 3) opsets_.emplace("", 1);
  for (const ProtoFunction& function : model_.functions) {
    auto key = function_key(function.domain, function.name, function.overload);
    if (!functions_.emplace(key, &function).second) {
      return fail(cat("defines the function \"", function.name, "\" twice"));
    }
  }
  // Before any is opened, so that an error can list all.
  for (const ProtoTensor& tensor : model_.graph->initializers)
    if (options_.external && tensor.external)
      if (auto path = location_of(tensor)) options_.external->expect(*std::move(path));
  Scope scope;
  scope.graph = &graph_;
  scope.opsets = &opsets_;
  GS_TRY(import_graph(*model_.graph, scope));
  // A run gives its outputs by name: one listed again is the one before it.
  std::vector<graph::ValueId> outputs;
  for (graph::ValueId output : scope.graph->outputs) {
    if (std::ranges::find(outputs, output) == outputs.end()) outputs.push_back(output);
  }
  scope.graph->outputs = std::move(outputs);
  return std::move(graph_);
}

Result<> Importer::read_opsets(const std::vector<ProtoOpset>& list, Opsets& opsets) const {
  for (const ProtoOpset& opset : list) {
    std::string_view domain = opset.domain == "ai.onnx" ? "" : opset.domain;
    if (domain.empty() && (opset.version < 1 || opset.version > newest_opset)) {
      return fail(cat("needs opset ", opset.version, "; 1 to ", newest_opset, " are known"),
                  opset.version > newest_opset ? "export it with an older opset" : "");
    }
    opsets.emplace(domain, opset.version);
  }
  return {};
}

Result<int64_t> Importer::opset_of(const std::string& domain, const Scope& scope) const {
  auto found = scope.opsets->find(domain);
  if (found != scope.opsets->end()) return found->second;
  if (!domain.empty()) return 1;
  return fail("is of the standard domain, and the model does not say which opset it uses");
}

Result<> Importer::import_graph(const ProtoGraph& proto, Scope& scope) {
  graph::Graph& graph = *scope.graph;
  graph.name = proto.name;
  GS_TRY(add_initializers(proto, scope));
  GS_TRY(add_inputs(proto, scope));
  for (const ProtoValue& value : proto.values) {
    ValueFacts& known = scope.facts[std::string(value.name)];
    if (auto dtype = dtype_of(value.element_type)) known.dtype = *dtype;
    if (value.has_shape) known.rank = static_cast<int>(value.dims.size());
  }
  GS_TRY(import_nodes(proto.nodes, scope));
  if (proto.outputs.empty()) return fail(cat("graph \"", proto.name, "\" has no outputs"));
  for (const ProtoValue& output : proto.outputs) {
    auto id = find(scope, output.name);
    if (!id) return fail_at(cat("output \"", output.name, "\""), "is made by no node");
    graph.outputs.push_back(*id);
  }
  return {};
}

namespace {

// What a graph says about its initializers, by their names.
class Parts {
 public:
  explicit Parts(const ProtoGraph& proto) {
    for (const auto* list : {&proto.values, &proto.inputs}) {
      for (const ProtoValue& value : *list) {
        if (value.kind.empty() && !value.folded) continue;
        said_[value.name] = &value;
        any_ = any_ || !value.kind.empty();
      }
    }
  }

  // Where an exporter says which initializers are learnt, it makes others of constants. Only what
  // it computed from initializers may be learnt, too.
  graph::Part of(std::string_view name, bool scalar) const {
    if (!any_) return graph::Part::initializer;
    const auto found = said_.find(name);
    if (found == said_.end()) return graph::Part::fixed;
    if (found->second->kind == parameter_kind) return graph::Part::parameter;
    const bool open = found->second->kind.empty() && !scalar;
    return open ? graph::Part::initializer : graph::Part::fixed;
  }

 private:
  std::map<std::string_view, const ProtoValue*> said_;
  bool any_ = false;
};

}  // namespace

Result<> Importer::add_initializers(const ProtoGraph& proto, Scope& scope) {
  const Parts parts(proto);
  const auto add = [&](std::string_view given, const auto& tensor) -> Result<> {
    std::string name(given), where = cat("initializer \"", name, "\"");
    if (name.empty()) return fail_at(where, "has no name");
    if (scope.values.contains(name)) return fail_at(where, "is given twice");
    auto source = constant_of(tensor);
    if (!source) return fail_at(where, source.error().message, source.error().hint);
    const graph::Part part = parts.of(name, source->shape.empty());
    const ValueId id = add_constant(scope, name, std::move(*source));
    scope.graph->values[id].part = part;
    return {};
  };
  for (const ProtoTensor& tensor : proto.initializers) GS_TRY(add(tensor.name, tensor));
  for (const ProtoSparse& tensor : proto.sparse_initializers)
    GS_TRY(add(tensor.values.name, tensor));
  return {};
}

Result<> Importer::add_inputs(const ProtoGraph& proto, Scope& scope) {
  graph::Graph& graph = *scope.graph;
  for (const ProtoValue& input : proto.inputs) {
    std::string name(input.name), where = cat("input \"", name, "\"");
    auto existing = scope.values.find(name);
    if (existing != scope.values.end() && graph.values[existing->second].constant) {
      GS_TRY(located(add_default(input, existing->second, scope), where));
      continue;
    }
    const bool special = input.is_sequence || input.is_optional;
    GS_TRY(located(special && !scope.parent ? add_sequence_input(input, scope)
                                            : add_input(input, name, name, scope),
                   where));
  }
  return scope.parent ? Result<>{} : check_options(proto);
}

// An input with an initializer: that is its value, unless the caller gives another or keeps it
// open.
Result<> Importer::add_default(const ProtoValue& input, ValueId constant, Scope& scope) {
  const std::string name(input.name);
  const bool kept = options_.known.kept.contains(input.name);
  if (scope.parent || (!kept && !options_.known.constants.contains(input.name))) {
    if (scope.parent || !options_.known.shapes.contains(input.name)) return {};
    return fail("has a default value, which is compiled in, so its shape cannot be given",
                cat("keep it an input: --keep-input ", name));
  }
  stages::ConstantSource value = *scope.graph->values[constant].constant;
  if (input.is_tensor) {
    GS_ASSIGN(const ir::DType dtype, dtype_of(input.element_type));
    if (dtype != value.dtype)
      return fail(cat("is ", ir::name_of(dtype), ", its default ", ir::name_of(value.dtype)));
  }
  ProtoValue declared = input;
  if (!declared.has_shape) {
    declared.has_shape = true;
    for (const int64_t extent : value.shape) declared.dims.emplace_back().value = extent;
  }
  scope.values.erase(name);
  GS_TRY(add_input(declared, name, name, scope));
  if (!options_.known.constants.contains(name))
    graph_.defaults.push_back({scope.graph->inputs.back(), std::move(value)});
  return {};
}

// A name that the model lacks would change nothing without a word.
Result<> Importer::check_options(const ProtoGraph& proto) const {
  std::set<std::string, std::less<>> inputs, dims, lists;
  for (const ProtoValue& input : proto.inputs) {
    inputs.emplace(input.name);
    if (input.is_sequence || input.is_optional) lists.emplace(input.name);
    const auto length = options_.known.lengths.find(input.name);
    const int64_t count = length != options_.known.lengths.end() ? length->second : 0;
    for (int64_t i = 0; i < std::min(count, max_length); ++i)
      inputs.insert(graph::element_name(std::string(input.name), static_cast<size_t>(i)));
    for (size_t axis = 0; axis < input.dims.size(); ++axis)
      if (!input.dims[axis].value) dims.insert(name_of_dim(input.dims[axis], input.name, axis));
  }
  const auto check = [](const auto& given, const std::set<std::string, std::less<>>& known,
                        const char* what) -> Result<> {
    for (const auto& [name, value] : given) {
      if (known.contains(name)) continue;
      std::string names;
      for (const std::string& one : known) names += cat(names.empty() ? "" : ", ", one);
      return fail_at(cat("\"", name, "\""), cat("names no ", what, " of the model"),
                     names.empty() ? "it has none" : cat("it has ", names));
    }
    return {};
  };
  GS_TRY(check(options_.known.shapes, inputs, "input"));
  GS_TRY(check(options_.known.lengths, lists, "sequence or optional among the inputs"));
  GS_TRY(check(options_.known.constants, inputs, "input"));
  for (const std::string& name : options_.known.kept)
    GS_TRY(check(std::map<std::string, bool>{{name, true}}, inputs, "input"));
  return check(options_.known.dims, dims, "dimension");
}

// A tensor of the signature, or (in a region) whatever flows in.
// `key`: what nodes call it.
Result<> Importer::add_input(const ProtoValue& input, const std::string& name,
                             const std::string& key, Scope& scope) {
  graph::Graph& graph = *scope.graph;
  auto given = options_.known.constants.find(name);
  if (!scope.parent && given != options_.known.constants.end()) {
    stages::ConstantSource source;
    source.dtype = given->second.dtype;
    source.shape = given->second.shape;
    source.bytes = given->second.bytes;
    source.strings = given->second.strings;
    auto dtype = dtype_of(input.element_type);
    if (!dtype || *dtype != source.dtype) return fail("is given a value of another type");
    add_constant(scope, key, std::move(source));
    return {};
  }
  graph::Value value;
  value.name = name;
  if (input.is_tensor) {
    GS_ASSIGN(value.dtype, dtype_of(input.element_type));
    scope.facts[key].dtype = value.dtype;
  }
  // A region's inputs get their shapes from what flows in.
  if (!scope.parent) {
    if (!input.is_tensor) {
      return fail("is no tensor, nor a sequence or optional of tensors",
                  "maps and sparse tensors cannot be inputs");
    }
    GS_ASSIGN(value.shape, input_shape(input, name, scope));
    value.shape_known = true;
    scope.facts[key].rank = static_cast<int>(value.shape.size());
  }
  ValueId id = graph.add_value(std::move(value));
  GS_TRY(define(scope, key, id));
  graph.inputs.push_back(id);
  return {};
}

// Inputs one an element, and a node that makes one value of them.
Result<> Importer::add_sequence_input(const ProtoValue& input, Scope& scope) {
  const std::string name(input.name);
  if (!input.is_tensor) {
    return fail("is no sequence or optional of tensors",
                "maps and sparse tensors cannot be inputs");
  }
  const auto given = options_.known.lengths.find(name);
  const bool is_given = given != options_.known.lengths.end();
  if (is_given && (given->second < (input.is_optional ? -1 : 0) || given->second > max_length))
    return fail(cat("is said to have ", given->second, " elements"));
  const auto first = static_cast<int>(scope.graph->inputs.size());
  if (is_given && given->second < 0) {
    graph_.groups.push_back({name, false, false, first, 0});
    return emit({"Optional", "", name, {}, {name}, {}, {}}, scope);
  }
  if (!input.is_sequence) return add_input(input, name, name, scope);
  if (!is_given) {
    return fail("is a sequence, whose length must be known when compiling",
                cat("say it: --sequence ", name, "=3"));
  }
  const auto count = static_cast<size_t>(given->second);
  ImportNode made{count ? "SequenceConstruct" : "SequenceEmpty", "", name, {}, {name}, {}, {}};
  for (size_t i = 0; i < count; ++i) {
    // No name of the model's.
    made.inputs.push_back(cat(name, "\n", i));
    GS_TRY(add_input(input, graph::element_name(name, i), made.inputs.back(), scope));
  }
  const size_t open = scope.graph->inputs.size() - static_cast<size_t>(first);
  if (open != count && open != 0)
    return fail("is given values for some of its elements only", "give all, or none");
  if (open == count) graph_.groups.push_back({name, true, false, first, static_cast<int>(open)});
  return emit(std::move(made), scope);
}

Result<> Importer::import_nodes(const std::vector<ProtoNode>& nodes, Scope& scope) {
  if (scope.depth > max_depth) {
    return fail(cat("nests functions or graphs more than ", max_depth, " deep"));
  }
  GS_ASSIGN(auto order, topological_order(nodes));
  for (const ProtoNode* node : order) {
    if (++nodes_ > max_nodes) return fail(cat("has more than ", max_nodes, " nodes"));
    GS_TRY(located(import_node(*node, scope), node_place(*node)));
  }
  return {};
}

Result<> Importer::import_node(const ProtoNode& proto, Scope& scope) {
  GS_ASSIGN(ImportNode node, convert(proto, scope));
  if (std::ranges::all_of(node.outputs, [](const std::string& name) { return name.empty(); })) {
    return fail("has no outputs");
  }
  auto function = functions_.find(function_key(node.domain, node.op, proto.overload));
  if (function != functions_.end()) return inline_function(*function->second, node, scope);
  if (node.domain.empty() && node.op == "Constant") return import_constant(proto, node, scope);
  GS_ASSIGN(int64_t version, opset_of(node.domain, scope));
  if (node.domain.empty() && node.op == "Scan" && version < 9) return import_scan_8(node, scope);
  UpgradeScope around = upgrade_scope(scope);
  GS_ASSIGN(auto made, upgrade(std::move(node), version, around));
  for (ImportNode& one : made) {
    std::string where = place_of(one);
    GS_TRY(located(emit(std::move(one), scope), where));
  }
  return {};
}

Result<> Importer::import_constant(const ProtoNode& proto, const ImportNode& node, Scope& scope) {
  stages::ConstantSource source;
  const ProtoAttribute* value = nullptr;
  for (const ProtoAttribute& attribute : proto.attributes) {
    if (attribute.name.starts_with("value")) value = &attribute;
    if (attribute.name == "sparse_value") value = &attribute;
  }
  if (value && value->sparse) {
    GS_ASSIGN(source, constant_of(*value->sparse));
  } else if (value && value->data) {
    GS_ASSIGN(source, constant_of(*value->data));
  } else {
    ops::TensorData data;
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* tensor = std::get_if<ops::TensorData>(&attribute)) data = *tensor;
      if (const auto* number = std::get_if<int64_t>(&attribute)) data = ops::int64s({}, {*number});
      if (const auto* number = std::get_if<double>(&attribute)) {
        data = ops::floats({}, {static_cast<float>(*number)});
      }
      if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) {
        data = ops::int64s({static_cast<int64_t>(list->size())}, *list);
      }
      if (const auto* list = std::get_if<std::vector<double>>(&attribute)) {
        data = ops::floats({static_cast<int64_t>(list->size())}, {list->begin(), list->end()});
      }
      if (const auto* text = std::get_if<std::string>(&attribute)) data = ops::strings({}, {*text});
      if (const auto* list = std::get_if<std::vector<std::string>>(&attribute)) {
        data = ops::strings({static_cast<int64_t>(list->size())}, *list);
      }
    }
    if (node.attributes.empty()) return fail("has no value");
    source.dtype = data.dtype;
    source.shape = data.shape;
    source.bytes = std::move(data.bytes);
    source.strings = std::move(data.strings);
    GS_TRY(packed_width(source.strings));
  }
  if (scope.values.contains(node.outputs[0])) {
    return fail(cat("makes the value \"", node.outputs[0], "\" a second time"));
  }
  add_constant(scope, node.outputs[0], std::move(source));
  return {};
}

Result<> Importer::inline_function(const ProtoFunction& function, const ImportNode& call,
                                   Scope& scope) {
  if (call.inputs.size() > function.inputs.size() ||
      call.outputs.size() > function.outputs.size()) {
    return fail(cat("has more inputs or outputs than the function \"", function.name, "\""));
  }
  ops::Attributes attributes = call.attributes;
  for (const ProtoAttribute& fallback : function.defaults) {
    std::string name(fallback.name);
    if (attributes.contains(name)) continue;
    GS_ASSIGN(attributes[name], convert(fallback));
  }
  Opsets opsets;
  GS_TRY(read_opsets(function.opsets, opsets));
  Scope body;
  body.graph = scope.graph;
  body.opsets = function.opsets.empty() ? scope.opsets : &opsets;
  body.call = &attributes;
  body.prefix = cat(scope.prefix, call.name, "/");
  body.depth = scope.depth + 1;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    std::string formal(function.inputs[i]);
    if (i >= call.inputs.size() || call.inputs[i].empty()) {
      body.values[formal] = no_value;
      continue;
    }
    auto actual = find(scope, call.inputs[i]);
    if (!actual) return fail(cat("uses the value \"", call.inputs[i], "\", which nothing makes"));
    body.values[formal] = *actual;
    body.facts[formal] = facts(scope, call.inputs[i]);
  }
  GS_TRY(import_nodes(function.nodes, body));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty()) continue;
    auto made = find(body, function.outputs[i]);
    if (!made || *made == no_value) {
      return fail(cat("its function does not make \"", function.outputs[i], "\""));
    }
    // It has the name of the call, as outputs of the model are known by theirs.
    const std::string name = scope.prefix + call.outputs[i];
    if (std::string& own = scope.graph->values[*made].name; own.starts_with(body.prefix)) {
      own = name;
    } else {
      graph::Node same;
      same.def = catalog_.find("", "Identity");
      same.name = name;
      same.inputs = {*made};
      graph::Value copy;
      copy.name = name;
      copy.dtype = scope.graph->values[*made].dtype;
      made = scope.graph->add_value(std::move(copy));
      same.outputs = {*made};
      scope.graph->nodes.push_back(std::move(same));
    }
    GS_TRY(define(scope, call.outputs[i], *made));
    scope.facts[call.outputs[i]] = facts(body, function.outputs[i]);
  }
  return {};
}

namespace {

// The tensors that a Gradient's attributes name become inputs behind its values.
Result<> bind_gradient(ImportNode& node) {
  const auto names = [&](const char* attribute) {
    const auto found = node.attributes.find(attribute);
    const auto* list = found == node.attributes.end()
                           ? nullptr
                           : std::get_if<std::vector<std::string>>(&found->second);
    return list ? *list : std::vector<std::string>();
  };
  std::vector<std::string> xs = names("xs");
  const std::vector<std::string> zs = names("zs");
  const auto y = node.attributes.find("y");
  if (y == node.attributes.end() || !std::holds_alternative<std::string>(y->second))
    return fail("lacks the attribute `y`");
  if (xs.empty()) return fail("lacks the attribute `xs`");
  if (node.inputs.size() != xs.size() + zs.size())
    return fail(cat("has ", node.inputs.size(), " inputs, `xs` and `zs` name ",
                    xs.size() + zs.size(), " tensors"));
  const auto count = static_cast<int64_t>(xs.size());
  node.inputs.insert(node.inputs.end(), xs.begin(), xs.end());
  node.inputs.insert(node.inputs.end(), zs.begin(), zs.end());
  node.inputs.push_back(std::get<std::string>(y->second));
  node.attributes = {{"count", count}};
  return {};
}

}  // namespace

Result<> Importer::emit(ImportNode node, Scope& scope) {
  graph::Node made;
  made.name = scope.prefix + node.name;
  made.def = catalog_.find(node.domain, node.op);
  if (!made.def && node.domain.empty()) made.def = graph::control_flow_op(node.op);
  if (!made.def) made.def = graph::gradient_op(node.domain, node.op);
  if (!made.def) {
    return fail(node.domain.empty() ? "is an unknown operator"
                                    : cat("is an unknown operator of the domain ", node.domain),
                "`gossamer ops` lists what is known");
  }
  GS_TRY(import_regions(node, made, scope));
  if (node.op == "Gradient" && node.domain == graph::training_domain) GS_TRY(bind_gradient(node));
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  for (const std::string& name : node.inputs) {
    ValueId id = no_value;
    if (!name.empty()) {
      auto found = find(scope, name);
      if (!found) {
        return fail(cat("uses the value \"", name, "\", which nothing makes"),
                    "the graph is incomplete, or the name is misspelt");
      }
      id = *found;
    }
    made.inputs.push_back(id);
  }
  // Where an attribute counts the outputs, those without a name count too.
  const bool counted = std::ranges::any_of(
      made.def->attributes,
      [](const ops::AttributeDef& attribute) { return attribute.name == "num_outputs"; });
  while (!counted && !node.outputs.empty() && node.outputs.back().empty()) node.outputs.pop_back();
  UpgradeScope around = upgrade_scope(scope);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& name = node.outputs[i];
    if (name.empty()) {
      made.outputs.push_back(no_value);
      continue;
    }
    ValueFacts guess = guess_output(node, i, around);
    ValueFacts& known = scope.facts[name];
    if (!known.dtype) known.dtype = guess.dtype;
    if (!known.rank) known.rank = guess.rank;
    graph::Value value;
    value.name = scope.prefix + name;
    if (known.dtype) value.dtype = *known.dtype;
    ValueId id = scope.graph->add_value(std::move(value));
    GS_TRY(define(scope, name, id));
    made.outputs.push_back(id);
  }
  made.attributes = std::move(node.attributes);
  scope.graph->nodes.push_back(std::move(made));
  return {};
}

Importer::Scope Importer::region_scope(Scope& around, graph::Graph& graph) {
  Scope inner;
  inner.parent = &around;
  inner.graph = &graph;
  inner.opsets = around.opsets;
  inner.call = around.call;
  inner.prefix = around.prefix;
  inner.depth = around.depth + 1;
  return inner;
}

Result<> Importer::import_regions(const ImportNode& node, graph::Node& made, Scope& scope) {
  const bool steps = made.def == graph::control_flow_op(node.op);
  std::vector<std::string_view> attributes(made.def->regions.begin(), made.def->regions.end());
  if (steps) {
    const auto needed = graph::region_attributes(node.op);
    attributes.assign(needed.begin(), needed.end());
  }
  size_t used = 0;
  for (std::string_view attribute : attributes) {
    auto found = node.bodies.find(attribute);
    made.regions.emplace_back();
    if (found == node.bodies.end()) {
      if (steps) return fail(cat("lacks the graph `", attribute, "`"));
      continue;
    }
    ++used;
    made.regions.back() = std::make_shared<graph::Graph>();
    Scope inner = region_scope(scope, *made.regions.back());
    GS_TRY(import_graph(*found->second, inner));
  }
  if (used != node.bodies.size()) {
    return fail("has a graph as attribute, which it cannot use");
  }
  return {};
}

}  // namespace gossamer::onnx
