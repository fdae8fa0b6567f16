#include "tensor/recorder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "graph/gradient_op.h"
#include "tensor/one_node.h"

namespace gossamer::tensor {
namespace {

// "f32 [2, 3], i64 [2]"
std::string text_of(std::span<const Spec* const> specs) {
  std::string text;
  for (const Spec* spec : specs) {
    text += cat(text.empty() ? "" : ", ");
    if (!spec) {
      text += "none";
      continue;
    }
    text += cat(ir::name_of(spec->dtype), " [");
    for (size_t i = 0; i < spec->shape.size(); ++i)
      text += cat(i ? ", " : "", spec->shape[i] < 0 ? "?" : cat(spec->shape[i]));
    text += "]";
  }
  return text;
}

// What tells attributes apart, as text.
void add_text(std::string& text, const ops::Attribute& attribute) {
  text += cat(attribute.index(), ":");
  const auto add_all = [&](const auto& list) {
    for (const auto& one : list) text += cat(one, ",");
  };
  if (const auto* i = std::get_if<int64_t>(&attribute)) text += cat(*i);
  if (const auto* f = std::get_if<double>(&attribute)) text += cat(std::bit_cast<uint64_t>(*f));
  if (const auto* s = std::get_if<std::string>(&attribute)) text += cat(s->size(), ":", *s);
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) add_all(*ints);
  if (const auto* floats = std::get_if<std::vector<double>>(&attribute)) {
    for (double value : *floats) text += cat(std::bit_cast<uint64_t>(value), ",");
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    for (const std::string& one : *texts) text += cat(one.size(), ":", one);
  }
  if (const auto* data = std::get_if<ops::TensorData>(&attribute)) {
    text += cat(static_cast<int>(data->dtype), ";");
    add_all(data->shape);
    text.append(reinterpret_cast<const char*>(data->bytes.data()), data->bytes.size());
    for (const std::string& one : data->strings) text += cat(one.size(), ":", one);
  }
}

}  // namespace

Recorder::Recorder(const ops::Catalog& catalog) : catalog_(catalog) {}

int Recorder::spec_of(ir::DType dtype, std::vector<int64_t> shape) {
  Words key{static_cast<int64_t>(dtype)};
  key.insert(key.end(), shape.begin(), shape.end());
  const auto [found, fresh] =
      spec_numbers_.try_emplace(std::move(key), static_cast<int>(specs_.size()));
  if (fresh) specs_.push_back({dtype, std::move(shape)});
  return found->second;
}

Id Recorder::add(Tensor tensor) {
  if (free_tensors_.empty()) {
    tensors_.push_back(tensor);
    return static_cast<Id>(tensors_.size() - 1);
  }
  const Id id = free_tensors_.back();
  free_tensors_.pop_back();
  tensors_[id] = tensor;
  return id;
}

Id Recorder::leaf(ir::DType dtype, std::vector<int64_t> shape) {
  return add({.spec = spec_of(dtype, std::move(shape)), .held = true, .settled = true});
}

Result<Id> Recorder::constant(const ops::TensorData& data) {
  const auto size = static_cast<size_t>(std::max(ir::byte_size(data.dtype), 1));
  if (data.bytes.size() > most_constant_bytes)
    return fail(
        cat("a constant of ", data.bytes.size(), " bytes is larger than ", most_constant_bytes),
        "make it a leaf");
  if (data.bytes.size() != size * static_cast<size_t>(data.element_count()))
    return fail(cat("a constant has ", data.bytes.size(), " bytes, its shape says ",
                    size * static_cast<size_t>(data.element_count())));
  const int spec = spec_of(data.dtype, data.shape);
  return add({.spec = spec, .constant = constant_number(spec, data), .held = true});
}

void Recorder::freeze(Id leaf, int32_t token) { tensors_[leaf].frozen = token; }

int Recorder::constant_number(int spec, const ops::TensorData& data) {
  const auto [found, fresh] =
      constant_numbers_.try_emplace({spec, data.bytes}, static_cast<int>(constants_.size()));
  if (fresh) constants_.push_back(data);
  return found->second;
}

Result<int> Recorder::operation(std::string_view op, const ops::Attributes& attributes) {
  std::string key(op);
  for (const auto& [name, attribute] : attributes) {
    key += cat("|", name, "=");
    add_text(key, attribute);
  }
  if (const auto found = operation_numbers_.find(key); found != operation_numbers_.end())
    return found->second;
  const size_t colons = op.find("::");
  const bool own = colons != std::string_view::npos;
  const std::string_view domain = own ? op.substr(0, colons) : "";
  const std::string_view name = own ? op.substr(colons + 2) : op;
  const ops::OpDef* def = catalog_.find(domain, name);
  if (!def) def = graph::gradient_op(domain, name);
  if (!def) return fail_at(cat("[", op, "]"), "is no operator of the catalog", "see gossamer ops");
  const int number = operation({.def = def, .attributes = attributes});
  operation_numbers_.emplace(std::move(key), number);
  return number;
}

int Recorder::operation(OneNode node) {
  operations_.push_back({std::move(node)});
  return static_cast<int>(operations_.size()) - 1;
}

int Recorder::operation(graph::Graph body) {
  operations_.push_back({.node = {}, .body = std::move(body)});
  return static_cast<int>(operations_.size()) - 1;
}

std::vector<Id> Recorder::add_node(int operation, std::span<const Id> inputs,
                                   std::span<const Made> made) {
  std::vector<Id> outputs;
  if (std::ranges::all_of(made, [](const Made& one) { return one.constant >= 0; })) {
    for (const Made& one : made)
      outputs.push_back(add({.spec = one.spec, .constant = one.constant, .held = true}));
    return outputs;
  }
  int number = static_cast<int>(nodes_.size());
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
  } else {
    number = free_nodes_.back();
    free_nodes_.pop_back();
  }
  for (const Made& one : made) {
    outputs.push_back(add({.spec = one.spec,
                           .maker = number,
                           .output = static_cast<uint16_t>(outputs.size()),
                           .held = true}));
  }
  for (Id input : inputs)
    if (input != no_tensor) ++tensors_[input].uses;
  Node& node = nodes_[static_cast<size_t>(number)];
  node.operation = operation;
  node.inputs.assign(inputs.begin(), inputs.end());
  node.outputs = outputs;
  node.live = outputs.size();
  return outputs;
}

Result<std::vector<Id>> Recorder::record(int operation, std::span<const Id> inputs,
                                         size_t outputs) {
  GS_ASSIGN(const std::vector<Made> made, infer(operation, inputs, outputs));
  return add_node(operation, inputs, made);
}

std::optional<std::vector<Id>> Recorder::record_known(int composite, std::span<const Id> inputs) {
  const size_t outputs = operations_[static_cast<size_t>(composite)].body->outputs.size();
  const auto found = inferred_.find(key_of(composite, inputs, outputs));
  if (found == inferred_.end()) return std::nullopt;
  return add_node(composite, inputs, found->second);
}

void Recorder::learn(int composite, std::span<const Id> inputs, std::span<const Id> outputs) {
  std::vector<Made> made;
  for (Id id : outputs) made.push_back({tensors_[id].spec, tensors_[id].constant});
  inferred_.insert_or_assign(key_of(composite, inputs, outputs.size()), std::move(made));
}

// Elements of constants may decide shapes, so each has results of its own.
Words Recorder::key_of(int operation, std::span<const Id> inputs, size_t outputs) const {
  Words key{operation, static_cast<int64_t>(outputs)};
  for (Id input : inputs) {
    if (input == no_tensor) {
      key.push_back(-1);
    } else {
      const Tensor& tensor = tensors_[input];
      key.push_back(tensor.constant < 0 ? tensor.spec : -2 - tensor.constant);
    }
  }
  return key;
}

Result<std::vector<Recorder::Made>> Recorder::infer(int operation, std::span<const Id> inputs,
                                                    size_t outputs) {
  Words key = key_of(operation, inputs, outputs);
  if (const auto found = inferred_.find(key); found != inferred_.end()) return found->second;
  GS_ASSIGN(std::vector<Made> made, define(operation, inputs, outputs));
  inferred_.emplace(std::move(key), made);
  return made;
}

Result<std::vector<Recorder::Made>> Recorder::define(int operation, std::span<const Id> inputs,
                                                     size_t outputs) {
  const OneNode& node = operations_[static_cast<size_t>(operation)].node;
  std::vector<OneNodeInput> given;
  std::vector<const Spec*> specs;
  for (Id input : inputs) {
    specs.push_back(input == no_tensor ? nullptr : &spec(input));
    if (!specs.back()) {
      given.push_back({.absent = true});
      continue;
    }
    const Tensor& tensor = tensors_[input];
    if (std::ranges::any_of(specs.back()->shape, [](int64_t extent) { return extent < 0; })) {
      return fail_at(cat("[", node.def->name, "]"),
                     cat("an input's shape is decided by a run: ", text_of(specs)),
                     "have that tensor computed first");
    }
    given.push_back(
        {specs.back()->dtype, specs.back()->shape,
         tensor.constant < 0 ? nullptr : &constants_[static_cast<size_t>(tensor.constant)]});
  }
  auto made = outputs_of(node, given, outputs, catalog_);
  if (!made) {
    Diagnostic error = std::move(made).error();
    error.where = cat("[", node.def->name, "]");
    if (!specs.empty()) error.message += cat("; its inputs are ", text_of(specs));
    return std::unexpected(std::move(error));
  }
  std::vector<Made> told;
  for (OneNodeOutput& output : *made) {
    const int spec = spec_of(output.dtype, std::move(output.shape));
    const bool small = output.constant && output.constant->bytes.size() <= most_constant_bytes;
    told.push_back({spec, small ? constant_number(spec, *output.constant) : -1});
  }
  return told;
}

Result<> Recorder::check_gradient(Id y, std::span<const Id> xs, Id seed) const {
  const auto fault = [](std::string message, std::string hint = {}) {
    return fail_at("[Gradient]", std::move(message), std::move(hint));
  };
  if (!ir::is_float(spec(y).dtype))
    return fault(cat("of a tensor of ", ir::name_of(spec(y).dtype)), "cast it to a float type");
  for (Id x : xs) {
    if (!ir::is_float(spec(x).dtype))
      return fault(cat("by a tensor of ", ir::name_of(spec(x).dtype)), "cast it to a float type");
  }
  if (seed != no_tensor && spec_number(seed) != spec_number(y)) {
    const Spec* const both[] = {&spec(y), &spec(seed)};
    return fault(cat("the seed must be like the tensor: ", text_of(both)));
  }
  return {};
}

Result<std::vector<Id>> Recorder::gradient(Id y, std::span<const Id> xs, Id seed) {
  GS_TRY(check_gradient(y, xs, seed));
  const auto count = static_cast<int64_t>(xs.size());
  GS_ASSIGN(const int number, operation("ai.gossamer::Gradient", {{"count", count}}));
  operations_[static_cast<size_t>(number)].xs = static_cast<int>(count);
  std::vector<Id> inputs(xs.begin(), xs.end());
  inputs.push_back(y);
  if (seed != no_tensor) inputs.push_back(seed);
  std::vector<Made> made;
  for (Id x : xs) {
    made.push_back({spec_number(x)});
    freeze(x, 0);  // it is about to change
  }
  return add_node(number, inputs, made);
}

void Recorder::settle(Id id, bool history) {
  Tensor& tensor = tensors_[id];
  if (tensor.settled) return;
  tensor.settled = true;
  if (tensor.maker < 0) return;
  ++histories_;
  if (!history) drop_history(id);
}

void Recorder::decide(Id id, std::vector<int64_t> shape) {
  tensors_[id].spec = spec_of(spec(id).dtype, std::move(shape));
}

bool Recorder::forget(Id id) {
  if (is_used(id)) return false;
  drop_history(id);
  return true;
}

void Recorder::drop_history(Id id) {
  if (!tensors_[id].settled || tensors_[id].maker < 0) return;
  --histories_;
  drop_maker(id);
}

// The node goes with the last of its outputs, and with it the use of its inputs, and so on.
void Recorder::drop_maker(Id id) {
  std::vector<Id> rest{id};
  while (!rest.empty()) {
    Tensor& tensor = tensors_[rest.back()];
    rest.pop_back();
    const int number = tensor.maker;
    tensor.maker = -1;
    if (number < 0) continue;
    Node& node = nodes_[static_cast<size_t>(number)];
    node.outputs[tensor.output] = no_tensor;
    if (--node.live > 0) continue;
    const std::vector<Id> inputs = std::move(node.inputs);
    node = {};
    free_nodes_.push_back(number);
    for (Id input : inputs) {
      if (input == no_tensor) continue;
      Tensor& used = tensors_[input];
      if (--used.uses > 0 || used.held) continue;
      leave(input);
      rest.push_back(input);
    }
  }
}

// Its id is given again: at once, or when the caller has let go of its elements.
void Recorder::leave(Id id) {
  const Tensor& tensor = tensors_[id];
  if (tensor.settled && tensor.maker >= 0) --histories_;
  (tensor.settled ? unused_ : free_tensors_).push_back(id);
}

void Recorder::release(Id id) {
  if (!is_held(id)) return;
  tensors_[id].held = false;
  if (tensors_[id].uses > 0) return;
  leave(id);
  drop_maker(id);
}

std::vector<Id> Recorder::take_unused() {
  free_tensors_.insert(free_tensors_.end(), unused_.begin(), unused_.end());
  return std::exchange(unused_, {});
}

}  // namespace gossamer::tensor
