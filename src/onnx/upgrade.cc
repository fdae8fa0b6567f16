#include "onnx/upgrade.h"

#include "ir/scalar.h"
#include "onnx/upgrade_step.h"

namespace gossamer::onnx {
namespace {

using ir::DType;

template <class T>
std::optional<T> take(ops::Attributes& attributes, std::string_view name) {
  auto found = attributes.find(name);
  if (found == attributes.end()) return std::nullopt;
  ops::Attribute value = std::move(found->second);
  attributes.erase(found);
  if (T* wanted = std::get_if<T>(&value)) return std::move(*wanted);
  return std::nullopt;
}

ops::TensorData tensor_of(DType dtype, std::vector<int64_t> shape,
                          const std::vector<double>& values) {
  ops::TensorData data{dtype, std::move(shape), {}, {}};
  size_t size = static_cast<size_t>(ir::byte_size(dtype));
  data.bytes.resize(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    ir::write_scalar(ir::Scalar::of_float(dtype, values[i]), &data.bytes[i * size]);
  }
  return data;
}

}  // namespace

int64_t UpgradeStep::take_integer(std::string_view attribute, int64_t fallback) {
  return take<int64_t>(node.attributes, attribute).value_or(fallback);
}
double UpgradeStep::take_number(std::string_view attribute, double fallback) {
  return take<double>(node.attributes, attribute).value_or(fallback);
}
std::string UpgradeStep::take_text(std::string_view attribute, std::string fallback) {
  return take<std::string>(node.attributes, attribute).value_or(std::move(fallback));
}
std::vector<int64_t> UpgradeStep::take_integers(std::string_view attribute) {
  return take<std::vector<int64_t>>(node.attributes, attribute).value_or(std::vector<int64_t>());
}
std::vector<double> UpgradeStep::take_numbers(std::string_view attribute) {
  return take<std::vector<double>>(node.attributes, attribute).value_or(std::vector<double>());
}
void UpgradeStep::drop(std::initializer_list<std::string_view> attributes) {
  for (std::string_view name : attributes) {
    auto found = node.attributes.find(name);
    if (found != node.attributes.end()) node.attributes.erase(found);
  }
}
void UpgradeStep::set_default(std::string_view attribute, ops::Attribute value) {
  node.attributes.try_emplace(std::string(attribute), std::move(value));
}

void UpgradeStep::set_input(size_t index, std::string name) {
  if (node.inputs.size() <= index) node.inputs.resize(index + 1);
  node.inputs[index] = std::move(name);
}
std::string UpgradeStep::input(size_t index) const {
  return index < node.inputs.size() ? node.inputs[index] : std::string();
}
std::string UpgradeStep::constant(const std::vector<int64_t>& values) {
  return scope_.add_constant(ops::int64s({static_cast<int64_t>(values.size())}, values));
}
std::string UpgradeStep::constant_scalar(int64_t value) {
  return scope_.add_constant(ops::int64s({}, {value}));
}
std::string UpgradeStep::constant_like(const std::string& like, double value) {
  DType dtype = facts(like).dtype.value_or(DType::f32);
  return scope_.add_constant(tensor_of(dtype, {}, {value}));
}
std::string UpgradeStep::constant_floats(const std::vector<double>& values) {
  return scope_.add_constant(tensor_of(DType::f32, {static_cast<int64_t>(values.size())}, values));
}
void UpgradeStep::integers_to_input(std::string_view attribute, size_t index) {
  if (has(attribute)) set_input(index, constant(take_integers(attribute)));
}

std::optional<std::vector<double>> UpgradeStep::known(const std::string& value) const {
  const stages::ConstantSource* constant = facts(value).constant;
  if (!constant || constant->dtype == DType::string) return std::nullopt;
  size_t size = static_cast<size_t>(ir::byte_size(constant->dtype));
  std::vector<double> values;
  for (size_t at = 0; at + size <= constant->bytes.size(); at += size) {
    values.push_back(ir::read_scalar(constant->dtype, &constant->bytes[at]).as_double());
  }
  return values;
}

std::string UpgradeStep::prepend(std::string op, std::vector<std::string> inputs,
                                 ops::Attributes attributes) {
  std::string made = scope_.new_name();
  before.push_back(
      {std::move(op), "", node.name, std::move(inputs), {made}, std::move(attributes), {}});
  return made;
}

void UpgradeStep::append(std::string op, std::vector<std::string> more_inputs,
                         ops::Attributes attributes) {
  std::vector<std::string>& last = after.empty() ? node.outputs : after.back().outputs;
  std::string between = scope_.new_name();
  std::string final = std::exchange(last[0], between);
  more_inputs.insert(more_inputs.begin(), between);
  after.push_back(
      {std::move(op), "", node.name, std::move(more_inputs), {final}, std::move(attributes), {}});
}

std::unexpected<Diagnostic> UpgradeStep::error(std::string message, std::string hint) const {
  return fail(std::move(message), std::move(hint));
}

Result<std::vector<ImportNode>> upgrade(ImportNode node, int64_t version,
                                        const UpgradeScope& scope) {
  std::vector<ImportNode> made;
  if (!node.domain.empty()) {
    made.push_back(std::move(node));
    return made;
  }
  UpgradeStep step(std::move(node), scope);
  if (version < 6) step.drop({"consumed_inputs"});
  const std::string op = step.node.op;
  for (const UpgradeRow& row : upgrade_rows()) {
    if (row.op == op && version < row.below && step.node.op == op) GS_TRY(row.apply(step));
  }
  made = std::move(step.before);
  made.push_back(std::move(step.node));
  for (ImportNode& after : step.after) made.push_back(std::move(after));
  return made;
}

}  // namespace gossamer::onnx
