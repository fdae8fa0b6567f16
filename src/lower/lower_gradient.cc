#include "lower/lower_gradient.h"

#include <algorithm>

#include "autodiff/differentiate.h"
#include "autodiff/stage_gradient.h"
#include "lower/lower_node.h"

namespace gossamer::lower {
namespace {

using autodiff::Gradients;
using graph::Capture;
using graph::Graph;
using graph::no_value;
using graph::Node;
using graph::training_domain;
using graph::ValueId;

std::string place_of(const Node& node) { return cat("[Gradient] \"", node.name, "\""); }

// The parts of a node's inputs, whichever form it has.
struct Form {
  size_t count = 0;                     // xs
  std::vector<ValueId> given, tensors;  // ONNX's: values, and the tensors that they stand for
  ValueId y = no_value, seed = no_value;
};

Result<Form> form_of(const Node& node) {
  Form form;
  const auto found = node.attributes.find("count");
  const int64_t* count =
      found == node.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  const std::vector<ValueId>& inputs = node.inputs;
  const auto size = static_cast<int64_t>(inputs.size());
  const bool onnx = node.def->domain == training_domain;
  if (!count || *count < 1 || *count >= size || node.outputs.size() > static_cast<size_t>(*count))
    return fail_at(place_of(node), "has other inputs or outputs than its attributes say");
  form.count = static_cast<size_t>(*count);
  if (onnx) {
    const size_t pairs = inputs.size() / 2;
    if (inputs.size() % 2 == 0 || pairs < form.count)
      return fail_at(place_of(node), "has other inputs than `xs` and `zs` name");
    form.given.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(pairs));
    form.tensors.assign(inputs.begin() + static_cast<std::ptrdiff_t>(pairs), inputs.end() - 1);
    form.y = inputs.back();
  } else {
    if (inputs.size() > form.count + 2)
      return fail_at(place_of(node), "has more inputs than xs, y and seed");
    form.given.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(form.count));
    form.tensors = form.given;
    form.y = inputs[form.count];
    if (inputs.size() > form.count + 1) form.seed = inputs[form.count + 1];
  }
  for (ValueId id : form.given) {
    if (id == no_value) return fail_at(place_of(node), "lacks a tensor to take the gradient of");
  }
  if (form.y == no_value) return fail_at(place_of(node), "lacks `y`");
  return form;
}

// Whether a node, or a region of it, reads one of these values.
bool reads(const Node& node, const std::unordered_set<ValueId>& values) {
  const auto is_one = [&](ValueId id) { return values.contains(id); };
  if (std::ranges::any_of(node.inputs, is_one)) return true;
  return std::ranges::any_of(node.regions, [&](const std::shared_ptr<Graph>& region) {
    return region && std::ranges::any_of(region->captures, [&](const Capture& capture) {
             return is_one(capture.outer);
           });
  });
}

// The nodes that hang on the tensors, again, with the given values in their place.
Result<> compute_again(const Graph& graph, const Node& gradient, const Form& form, Values& values,
                       GraphLowering& lowering) {
  std::unordered_set<ValueId> changed;
  for (size_t k = 0; k < form.given.size(); ++k) {
    if (form.given[k] == form.tensors[k]) continue;
    changed.insert(form.tensors[k]);
  }
  if (changed.empty()) return {};
  const Values before = values;
  for (size_t k = 0; k < form.given.size(); ++k) values[form.tensors[k]] = before[form.given[k]];
  const std::unordered_set<ValueId> fixed(form.tensors.begin(), form.tensors.end());
  Graph part = graph;
  part.nodes.clear();
  for (const Node& node : graph.nodes) {
    if (&node == &gradient) break;
    if (!reads(node, changed) ||
        std::ranges::any_of(node.outputs, [&](ValueId id) { return fixed.contains(id); }))
      continue;
    part.nodes.push_back(node);
    part.nodes.back().name = cat(gradient.name, "/", node.name);
    for (ValueId id : node.outputs) {
      if (id == no_value) continue;
      changed.insert(id);
      part.values[id].name = cat(gradient.name, "/", graph.values[id].name);
    }
  }
  return lowering.lower_nodes(part, values);
}

Result<Tensor> float_tensor(const Node& node, const Graph& graph, ValueId id, const Item& item) {
  const std::string& name = graph.values[id].name;
  if (!item.tensor) return fail_at(place_of(node), cat("\"", name, "\" is no tensor"));
  if (!ir::is_float(item.tensor.dtype())) {
    return fail_at(place_of(node), cat("\"", name, "\" has type ", ir::name_of(item.tensor.dtype()),
                                       "; gradients are of floats"));
  }
  return item.tensor;
}

}  // namespace

std::unordered_set<ValueId> gradient_variables(const Graph& graph) {
  std::unordered_set<ValueId> variables;
  for (const Node& node : graph.nodes) {
    if (!is_gradient(node)) continue;
    if (const auto form = form_of(node)) {
      const auto count = static_cast<std::ptrdiff_t>(form->count);
      variables.insert(form->given.begin(), form->given.begin() + count);
      variables.insert(form->tensors.begin(), form->tensors.begin() + count);
    }
  }
  return variables;
}

Result<> lower_gradient(const Graph& graph, const Node& node, Values& values,
                        GraphLowering& lowering) {
  GS_ASSIGN(const Form form, form_of(node));
  Values inner = values;
  GS_TRY(compute_again(graph, node, form, inner, lowering));
  Gradients wanted;
  wanted.independent = node.def->domain == training_domain;
  std::vector<Item> inputs;
  for (size_t k = 0; k < form.count; ++k) {
    GS_ASSIGN(Tensor x, float_tensor(node, graph, form.given[k], inner[form.given[k]]));
    inputs.emplace_back(x);
    wanted.xs.push_back(std::move(x));
  }
  GS_ASSIGN(wanted.y, float_tensor(node, graph, form.y, inner[form.y]));
  inputs.emplace_back(wanted.y);
  if (form.seed != no_value) {
    GS_ASSIGN(wanted.seed, float_tensor(node, graph, form.seed, inner[form.seed]));
    inputs.emplace_back(wanted.seed);
  }
  ops::OpDef def = *node.def;
  const stages::Program& program = lowering.stages().program();
  def.define = [&](ops::Builder& b) -> Result<> {
    if (wanted.seed) {
      const Tensor &y = wanted.y, &seed = wanted.seed;
      if (y.dtype() != seed.dtype() || y.rank() != seed.rank())
        return b.error("the seed has another type or rank than y");
      for (int d = 0; d < y.rank(); ++d)
        GS_TRY(b.require(y.dim(d) == seed.dim(d), "the seed has another shape than y"));
    }
    GS_ASSIGN(std::vector<Tensor> made, differentiate(b, program, wanted));
    for (size_t k = 0; k < made.size(); ++k) {
      const Tensor& x = wanted.xs[k];
      if (!made[k]) made[k] = autodiff::zeros(b, "none", x.dtype(), x.shape());
      b.output(static_cast<int>(k), std::move(made[k]));
    }
    return {};
  };
  ops::Builder builder(def, node.name, std::move(inputs), node.attributes,
                       static_cast<int>(node.outputs.size()));
  return lowering.lower_as(graph, node, builder, values);
}

}  // namespace gossamer::lower
