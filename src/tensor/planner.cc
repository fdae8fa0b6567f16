#include "tensor/planner.h"

#include <algorithm>

#include "ir/build.h"

namespace gossamer::tensor {

// Whether one of the scope's xs is among what the tensor was made of.
bool Recorder::Planner::depends(Scope& scope, Id id) const {
  std::vector<Id> rest{id};
  while (!rest.empty()) {
    const Id at = rest.back();
    if (scope.depends.contains(at)) {
      rest.pop_back();
      continue;
    }
    const int maker = recorder_.tensors_[at].maker;
    bool found = scope.xs.contains(at), complete = true;
    if (!found && maker >= 0) {
      for (Id input : recorder_.nodes_[static_cast<size_t>(maker)].inputs) {
        if (input == no_tensor) continue;
        const auto known = scope.depends.find(input);
        if (known == scope.depends.end()) {
          rest.push_back(input);
          complete = false;
        } else {
          found = found || known->second;
        }
      }
    }
    if (!complete) continue;
    scope.depends.emplace(at, found);
    rest.pop_back();
  }
  return scope.depends.at(id);
}

// Whether among what makes the tensor is one that the caller has, through which gradients go. Where
// there is none, a gradient needs no scope: its program does not hang on what else is kept.
bool Recorder::Planner::has_history(Id id) {
  if (recorder_.histories_ == 0) return false;
  const auto [known, fresh] = histories_.try_emplace(id, false);
  if (!fresh) return known->second;
  std::vector<Id> rest{id};
  std::unordered_set<Id> seen{id};
  while (!rest.empty()) {
    const Tensor& tensor = recorder_.tensors_[rest.back()];
    rest.pop_back();
    if (tensor.maker < 0) continue;
    if (tensor.settled) return histories_[id] = true;
    for (Id input : recorder_.nodes_[static_cast<size_t>(tensor.maker)].inputs) {
      if (input != no_tensor && seen.insert(input).second) rest.push_back(input);
    }
  }
  return false;
}

Recorder::Planner::Place Recorder::Planner::resolve(Place place) {
  while (place.scope != 0) {
    Scope& scope = scopes_[static_cast<size_t>(place.scope)];
    if (!scope.xs.contains(place.id) && depends(scope, place.id)) break;
    place.scope = scope.around;
  }
  return place;
}

int64_t Recorder::Planner::find(Place place) const {
  if (place.scope == 0) {
    const Tensor& tensor = recorder_.tensors_[place.id];
    return tensor.plan == recorder_.plans_ ? tensor.name : -1;
  }
  const auto found = values_.find(key(place));
  return found == values_.end() ? -1 : found->second;
}

void Recorder::Planner::name(Place place) {
  if (place.scope == 0) {
    recorder_.tensors_[place.id].plan = recorder_.plans_;
    recorder_.tensors_[place.id].name = static_cast<int32_t>(next_++);
  } else {
    values_.emplace(key(place), next_++);
  }
}

// Of the node that makes a tensor.
Recorder::Planner::Reading Recorder::Planner::reading_of(Place place) {
  const int maker = recorder_.tensors_[place.id].maker;
  const Node& node = recorder_.nodes_[static_cast<size_t>(maker)];
  const int xs = recorder_.operations_[static_cast<size_t>(node.operation)].xs;
  Reading reading{node, place, node.inputs.size(), place.scope};
  const auto y = static_cast<size_t>(std::max(xs, 0));
  if (xs < 0 || (place.scope == 0 && !has_history(node.inputs[y]))) return reading;
  reading.y = y;
  const auto [found, fresh] = gradient_scopes_.try_emplace(
      key({place.scope, static_cast<Id>(maker)}), static_cast<int>(scopes_.size()));
  if (fresh) {
    scopes_.push_back({.around = place.scope});
    scopes_.back().xs.insert(node.inputs.begin(),
                             node.inputs.begin() + static_cast<std::ptrdiff_t>(y));
  }
  reading.scope = found->second;
  return reading;
}

Recorder::Planner::Place Recorder::Planner::input(const Reading& reading, size_t i) {
  const Place place{i == reading.y ? reading.scope : reading.at.scope, reading.node.inputs[i]};
  return place.id == no_tensor || place.scope == 0 ? place : resolve(place);
}

void Recorder::Planner::add_node(const Reading& reading) {
  const Node& node = reading.node;
  words.push_back(node.operation);
  words.push_back(static_cast<int64_t>(node.inputs.size()));
  words.push_back(static_cast<int64_t>(node.outputs.size()));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Place place = input(reading, i);
    words.push_back(place.id == no_tensor ? -1 : find(place));
  }
  for (Id output : node.outputs) {
    if (output == no_tensor) {
      ++next_;
    } else {
      name({reading.at.scope, output});
    }
  }
}

// Without recursion: programs may be as deep as they are long.
void Recorder::Planner::walk(Place start) {
  std::vector<Place> rest{start};
  while (!rest.empty()) {
    const Place place = rest.back();
    if (find(place) >= 0) {
      rest.pop_back();
      continue;
    }
    const Tensor& tensor = recorder_.tensors_[place.id];
    if (tensor.constant >= 0) {
      words.insert(words.end(), {word::constant, tensor.constant});
      name(place);
      continue;
    }
    if (frozen_ && tensor.frozen > 0) {
      words.insert(words.end(), {word::weight, word::weight_of(tensor.frozen, tensor.spec)});
      name(place);
      continue;
    }
    if (tensor.maker < 0 || (place.scope == 0 && tensor.settled)) {
      words.insert(words.end(), {word::feed, tensor.spec});
      feeds.push_back(place.id);
      name(place);
      continue;
    }
    const Reading reading = reading_of(place);
    const size_t before = rest.size();
    // The first input on top, so that feeds come in the order in which they are used.
    for (size_t i = reading.node.inputs.size(); i-- > 0;) {
      const Place one = input(reading, i);
      if (one.id != no_tensor && find(one) < 0) rest.push_back(one);
    }
    if (rest.size() == before) add_node(reading);
  }
}

void Recorder::Planner::plan(std::span<const Id> wanted) {
  Words outputs;
  for (Id id : wanted) {
    walk({0, id});
    outputs.insert(outputs.end(), {find({0, id}), recorder_.tensors_[id].spec});
  }
  words.push_back(word::wanted);
  words.push_back(static_cast<int64_t>(wanted.size()));
  words.insert(words.end(), outputs.begin(), outputs.end());
}

Recorder::Plan Recorder::plan(std::span<const Id> wanted, bool frozen) {
  Planner planner(*this, frozen);
  planner.plan(wanted);
  const auto [found, fresh] = program_numbers_.try_emplace(
      std::move(planner.words), Plan{.program = static_cast<int>(programs_.size())});
  if (fresh) {
    programs_.push_back(found->first);
    found->second.general = general_of(found->second.program);
  }
  return {found->second.program, found->second.general, std::move(planner.feeds)};
}

namespace {

graph::Value value_of(std::string name, const Spec& spec) {
  graph::Value value;
  value.name = std::move(name);
  value.dtype = spec.dtype;
  value.shape_known = true;
  for (int64_t extent : spec.shape) value.shape.push_back(ir::index(extent));
  return value;
}

// What a node makes, of which reading the model again tells the rest.
graph::ValueId add_value(graph::Graph& made, std::string name) {
  graph::Value value;
  value.name = std::move(name);
  return made.add_value(std::move(value));
}

// The nodes of a composite. Numbers its outputs.
void add_body(graph::Graph& made, const graph::Graph& body, std::span<const graph::ValueId> inputs,
              std::vector<graph::ValueId>& values) {
  std::vector<graph::ValueId> here(body.values.size(), graph::no_value);
  for (size_t i = 0; i < inputs.size(); ++i) here[body.inputs[i]] = inputs[i];
  const auto settle = [&](graph::ValueId& id) {
    if (id == graph::no_value) return;
    if (here[id] == graph::no_value) {
      graph::Value value = body.values[id].constant ? body.values[id] : graph::Value();
      value.name = cat("v", made.values.size());
      here[id] = made.add_value(std::move(value));
    }
    id = here[id];
  };
  for (graph::Node node : body.nodes) {
    node.name = cat("n", made.nodes.size());
    std::ranges::for_each(node.inputs, settle);
    for (auto& region : node.regions) {
      if (!region) continue;
      region = std::make_shared<graph::Graph>(*region);
      for (graph::Capture& capture : region->captures) settle(capture.outer);
    }
    std::ranges::for_each(node.outputs, settle);
    made.nodes.push_back(std::move(node));
  }
  for (graph::ValueId id : body.outputs) values.push_back(here[id]);
}

}  // namespace

graph::Graph Recorder::program(int number) const {
  const Words& words = programs_[static_cast<size_t>(number)];
  if (words.empty()) return general_graph(number);
  graph::Graph made;
  std::vector<graph::ValueId> values;  // by their numbers in the words
  made.name = cat("program ", number);
  size_t at = 0;
  for (; words[at] != word::wanted;) {
    const int64_t kind = words[at];
    if (kind == word::feed) {
      const Spec& spec = specs_[static_cast<size_t>(words[at + 1])];
      values.push_back(made.add_value(value_of(cat("i", made.inputs.size()), spec)));
      made.inputs.push_back(values.back());
      at += 2;
    } else if (kind == word::constant) {
      const ops::TensorData& data = constants_[static_cast<size_t>(words[at + 1])];
      graph::Value value = value_of(cat("c", made.values.size()), Spec{data.dtype, data.shape});
      value.constant = graph::source_of(data);
      values.push_back(made.add_value(std::move(value)));
      at += 2;
    } else if (kind == word::weight) {
      values.push_back(add_weight(made, words[at + 1]));
      at += 2;
    } else {
      at = add_node(made, values, words, at);
    }
  }
  const auto count = static_cast<size_t>(words[at + 1]);
  for (size_t i = 0; i < count; ++i) {
    const Spec& spec = specs_[static_cast<size_t>(words[at + 3 + 2 * i])];
    add_output(made, values[static_cast<size_t>(words[at + 2 + 2 * i])],
               value_of(cat("o", i), spec));
  }
  return made;
}

graph::ValueId Recorder::add_weight(graph::Graph& made, int64_t weight) const {
  const Spec& spec = specs_[static_cast<size_t>(weight % word::specs)];
  graph::Value value = value_of(weight_name(static_cast<int32_t>(weight / word::specs)), spec);
  made.files.push_back(value.name);
  uint64_t bytes = static_cast<uint64_t>(ir::byte_size(spec.dtype));
  for (int64_t extent : spec.shape) bytes *= static_cast<uint64_t>(extent);
  value.constant = stages::ConstantSource{.dtype = spec.dtype,
                                          .shape = spec.shape,
                                          .bytes = {},
                                          .file = static_cast<int>(made.files.size()),
                                          .length = bytes};
  return made.add_value(std::move(value));
}

std::vector<int32_t> Recorder::weights(int program) const {
  std::vector<int32_t> tokens;
  const Words& words = words_of(program);
  for (size_t at = 0; words[at] != word::wanted; at += 2) {
    if (words[at] >= 0)
      at += 1 + static_cast<size_t>(words[at + 1]);
    else if (words[at] == word::weight)
      tokens.push_back(static_cast<int32_t>(words[at + 1] / word::specs));
  }
  return tokens;
}

// A node of an operation, or the nodes of a composite; gives its outputs.
graph::ValueId Recorder::write_node(graph::Graph& made, std::string_view op,
                                    std::vector<graph::ValueId> inputs,
                                    ops::Attributes attributes) const {
  graph::Node node;
  node.def = catalog_.find("", op);
  node.name = cat("n", made.nodes.size());
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  graph::Value value;
  value.name = cat("v", made.values.size());
  node.outputs = {made.add_value(std::move(value))};
  made.nodes.push_back(std::move(node));
  return made.nodes.back().outputs[0];
}

std::vector<graph::ValueId> Recorder::write_node(graph::Graph& made, size_t number,
                                                 std::vector<graph::ValueId> inputs,
                                                 size_t outputs) const {
  const Operation& operation = operations_[number];
  std::vector<graph::ValueId> values;
  if (operation.body) {
    add_body(made, *operation.body, inputs, values);
    return values;
  }
  graph::Node node;
  node.def = operation.node.def;
  node.attributes = operation.node.attributes;
  node.name = cat("n", made.nodes.size());
  node.inputs = std::move(inputs);
  if (!operation.node.regions.empty()) {
    const size_t own = operation.node.own_inputs;
    node.regions = with_captures(operation.node.regions, std::span(node.inputs).subspan(own));
    node.inputs.resize(own);
  }
  for (size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(add_value(made, cat("v", made.values.size())));
    values.push_back(node.outputs.back());
  }
  made.nodes.push_back(std::move(node));
  return values;
}

// The node at a place of the words, whose outputs get the next numbers; the place behind it.
size_t Recorder::add_node(graph::Graph& made, std::vector<graph::ValueId>& values,
                          const Words& words, size_t at) const {
  const auto operation = static_cast<size_t>(words[at]);
  const auto inputs = static_cast<size_t>(words[at + 1]);
  const auto outputs = static_cast<size_t>(words[at + 2]);
  std::vector<graph::ValueId> given;
  at += 3;
  for (size_t i = 0; i < inputs; ++i, ++at)
    given.push_back(words[at] < 0 ? graph::no_value : values[static_cast<size_t>(words[at])]);
  const auto made_here = write_node(made, operation, std::move(given), outputs);
  values.insert(values.end(), made_here.begin(), made_here.end());
  return at;
}

// Outputs are values that nodes make, each of its own: else a node that copies makes one.
void Recorder::add_output(graph::Graph& made, graph::ValueId id, graph::Value output) const {
  const auto given = [&](const std::vector<graph::ValueId>& list) {
    return std::ranges::find(list, id) != list.end();
  };
  if (made.values[id].constant || given(made.inputs) || given(made.outputs)) {
    graph::Node copy;
    copy.def = catalog_.find("", "Identity");
    copy.name = cat("n", made.nodes.size());
    copy.inputs = {id};
    id = add_value(made, "");
    copy.outputs = {id};
    made.nodes.push_back(std::move(copy));
  }
  made.values[id] = std::move(output);
  made.outputs.push_back(id);
}

}  // namespace gossamer::tensor
