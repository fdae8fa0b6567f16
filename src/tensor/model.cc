#include "tensor/model.h"

#include "tensor/learnt.h"

namespace gossamer::tensor {
namespace {

using graph::no_value;
using graph::ValueId;

constexpr int64_t small_constant = 1024;  // bytes: more is a leaf

}  // namespace

Result<Model> Model::make(graph::Graph graph, std::vector<std::byte> file) {
  Model model;
  model.graph_ = std::move(graph);
  model.file_ = std::move(file);
  GS_TRY(model.check());
  part_merged(model.graph_, model.file_);
  model.find_leaves();
  model.operations_.assign(model.graph_.nodes.size(), -1);
  return model;
}

Result<> Model::check() const {
  if (!graph_.groups.empty())
    return fail_at(cat("\"", graph_.groups[0].name, "\""), "is a sequence or an optional",
                   "modules have tensors as inputs and outputs");
  for (const graph::Value& value : graph_.values) {
    if (!value.constant) continue;
    const std::string where = cat("\"", value.name, "\"");
    const stages::ConstantSource& source = *value.constant;
    if (source.file > 0) return fail_at(where, "its data lie in another file", "put them inside");
    if (source.packed > 1 || source.dtype == ir::DType::string)
      return fail_at(where, cat("a constant of ", ir::name_of(source.dtype)),
                     "modules have numbers of whole bytes");
    if (source.file == 0 &&
        (source.offset > file_.size() || source.length > file_.size() - source.offset))
      return fail_at(where, "its bytes lie outside the model file");
  }
  for (ValueId id : graph_.inputs) {
    if (graph_.values[id].dtype == ir::DType::string)
      return fail_at(cat("\"", graph_.values[id].name, "\""), "is of strings",
                     "modules have tensors of numbers");
  }
  return {};
}

void Model::find_leaves() {
  const std::vector<uint8_t> learnt = find_learnt(graph_, file_);
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    const graph::Value& value = graph_.values[id];
    if (!value.constant) continue;
    if (learnt[id] || bytes_of(id).size() > small_constant)
      leaves_.push_back({value.name, id, learnt[id] != 0});
  }
}

std::span<const std::byte> Model::bytes_of(ValueId value) const {
  return tensor::bytes_of(*graph_.values[value].constant, file_);
}

Result<int> Model::operation_of(Recorder& recorder, size_t at) {
  int& number = operations_[at];
  if (number >= 0) return number;
  const graph::Node& node = graph_.nodes[at];
  if (node.regions.empty()) {
    const std::string op =
        node.def->domain.empty() ? node.def->name : cat(node.def->domain, "::", node.def->name);
    GS_ASSIGN(number, recorder.operation(op, node.attributes));
    return number;
  }
  OneNode one{node.def, node.attributes, {}, node.inputs.size()};
  size_t captured = node.inputs.size();
  for (const auto& region : node.regions) {
    one.regions.push_back(region ? std::make_shared<graph::Graph>(*region) : nullptr);
    if (!region) continue;
    for (graph::Capture& capture : one.regions.back()->captures)
      capture.outer = static_cast<ValueId>(captured++ - node.inputs.size());
  }
  return number = recorder.operation(std::move(one));
}

Result<> Model::record_nodes(Recorder& recorder, std::vector<Id>& values, std::vector<Id>& mine) {
  for (size_t at = 0; at < graph_.nodes.size(); ++at) {
    const graph::Node& node = graph_.nodes[at];
    GS_ASSIGN(const int operation, operation_of(recorder, at));
    std::vector<Id> inputs;
    for (ValueId id : node.inputs) inputs.push_back(id == no_value ? no_tensor : values[id]);
    for (const auto& region : node.regions) {
      if (!region) continue;
      for (const graph::Capture& capture : region->captures)
        inputs.push_back(values[capture.outer]);
    }
    auto made = recorder.record(operation, inputs, node.outputs.size());
    if (!made) {
      Diagnostic error = std::move(made).error();
      error.where = cat("[", node.def->name, "] \"", node.name, "\"");
      return std::unexpected(std::move(error));
    }
    mine.insert(mine.end(), made->begin(), made->end());
    for (size_t i = 0; i < made->size(); ++i)
      if (node.outputs[i] != no_value) values[node.outputs[i]] = (*made)[i];
  }
  return {};
}

// Its graph with leaves as inputs behind its own, and outputs that are values of their own.
graph::Graph Model::body() const {
  graph::Graph made = graph_;
  for (const ModelLeaf& leaf : leaves_) {
    made.values[leaf.value].constant.reset();
    made.inputs.push_back(leaf.value);
  }
  for (ValueId id = 0; id < made.values.size(); ++id) {
    auto& constant = made.values[id].constant;
    if (!constant) continue;
    const auto bytes = bytes_of(id);
    constant = graph::source_of({constant->dtype, constant->shape, {bytes.begin(), bytes.end()}});
  }
  for (ValueId& id : made.outputs) {
    graph::Node copy;
    copy.def = ops::builtin_catalog().find("", "Identity");
    copy.inputs = {id};
    copy.outputs = {id = made.add_value({})};
    made.nodes.push_back(std::move(copy));
  }
  return made;
}

Result<std::vector<Id>> Model::record(Recorder& recorder, std::span<const Id> inputs,
                                      std::span<const Id> leaves) {
  if (inputs.size() != graph_.inputs.size() || leaves.size() != leaves_.size())
    return fail_at(graph_.name, cat("takes ", graph_.inputs.size(), " inputs and ", leaves_.size(),
                                    " weights, not ", inputs.size(), " and ", leaves.size()));
  if (composite_ < 0) composite_ = recorder.operation(body());
  std::vector<Id> all(inputs.begin(), inputs.end());
  all.insert(all.end(), leaves.begin(), leaves.end());
  if (auto known = recorder.record_known(composite_, all)) return *known;
  GS_ASSIGN(const std::vector<Id> nodes, record_all(recorder, inputs, leaves));
  recorder.learn(composite_, all, nodes);
  for (Id id : nodes) recorder.release(id);
  return *recorder.record_known(composite_, all);
}

Result<std::vector<Id>> Model::record_all(Recorder& recorder, std::span<const Id> inputs,
                                          std::span<const Id> leaves) {
  std::vector<Id> values(graph_.values.size(), no_tensor), mine, outputs;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs[i]] = inputs[i];
  for (size_t i = 0; i < leaves.size(); ++i) values[leaves_[i].value] = leaves[i];
  const auto let_go = [&] {
    for (Id id : mine) recorder.release(id);
  };
  for (ValueId id = 0; id < values.size(); ++id) {
    const graph::Value& value = graph_.values[id];
    if (!value.constant || values[id] != no_tensor) continue;
    const auto bytes = bytes_of(id);
    auto made = recorder.constant(
        {value.constant->dtype, value.constant->shape, {bytes.begin(), bytes.end()}});
    if (!made) {
      let_go();
      return std::unexpected(std::move(made).error());
    }
    mine.push_back(values[id] = *made);
  }
  auto done = record_nodes(recorder, values, mine);
  // Outputs of their own, whatever they are in the graph.
  const int identity = *recorder.operation("Identity", {});
  for (ValueId id : graph_.outputs) {
    if (!done) break;
    const Id value = values[id];
    auto copy = recorder.record(identity, std::span(&value, 1));
    if (copy) outputs.push_back((*copy)[0]);
    if (!copy) done = std::unexpected(std::move(copy).error());
  }
  let_go();
  if (!done) {
    for (Id id : outputs) recorder.release(id);
    return std::unexpected(std::move(done).error());
  }
  return outputs;
}

}  // namespace gossamer::tensor
