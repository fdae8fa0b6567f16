#include "fuzz/recipe.h"

#include <algorithm>
#include <set>

#include "gossamer/files/tensor_file.h"
#include "onnx/model_writer.h"

namespace gossamer::fuzz {
namespace {

using onnx::Message;
using ops::TensorData;

// Elements of less than a byte lie side by side in TensorProto, in memory each has its own.
std::vector<char> packed(const TensorData& data) {
  const int bits = ir::is_small(data.dtype) ? ir::bit_width(data.dtype) : 8;
  const auto* bytes = reinterpret_cast<const char*>(data.bytes.data());
  if (bits == 8) return {bytes, bytes + data.bytes.size()};
  std::vector<char> result((data.bytes.size() * static_cast<size_t>(bits) + 7) / 8);
  for (size_t at = 0; at < data.bytes.size() * static_cast<size_t>(bits); ++at) {
    const size_t element = at / static_cast<size_t>(bits), bit = at % static_cast<size_t>(bits);
    if ((std::to_integer<unsigned>(data.bytes[element]) >> bit) & 1)
      result[at / 8] = static_cast<char>(result[at / 8] | (1 << (at % 8)));
  }
  return result;
}

Message tensor(std::string_view name, const TensorData& data) {
  if (data.dtype != ir::DType::string)
    return onnx::tensor(name, onnx_code(data.dtype), data.shape, packed(data));
  Message message;
  for (int64_t extent : data.shape) message.integer(1, extent);
  message.integer(2, onnx_code(data.dtype)).text(8, name);
  for (const std::string& text : data.strings) message.text(6, text);
  return message;
}

struct WriteAttribute {
  const std::string& name;

  Message operator()(std::monostate) const { GS_CHECK(false, "attribute ", name, " is nothing"); }
  Message operator()(int64_t value) const { return onnx::attribute(name, value); }
  Message operator()(double value) const {
    return onnx::attribute(name, static_cast<float>(value));
  }
  Message operator()(const std::string& value) const {
    return onnx::attribute(name, std::string_view(value));
  }
  Message operator()(const std::vector<int64_t>& values) const {
    return onnx::attribute(name, values);
  }
  Message operator()(const std::vector<double>& values) const {
    return onnx::attribute(name, std::vector<float>(values.begin(), values.end()));
  }
  Message operator()(const std::vector<std::string>& values) const {
    Message message = Message().text(1, name).integer(20, 8);
    for (const std::string& value : values) message.text(9, value);
    return message;
  }
  Message operator()(const TensorData& value) const {
    return Message().text(1, name).add(5, tensor("", value)).integer(20, 4);
  }
};

struct PrintAttribute {
  std::string operator()(std::monostate) const { return "?"; }
  std::string operator()(int64_t value) const { return cat(value); }
  std::string operator()(double value) const { return cat(value); }
  std::string operator()(const std::string& value) const { return cat("\"", value, "\""); }
  std::string operator()(const TensorData& value) const { return type_text(value); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text;
    for (const T& value : values) text += cat(text.empty() ? "" : ", ", (*this)(value));
    return cat("[", text, "]");
  }
  static std::string type_text(const TensorData& data) {
    return cat(ir::name_of(data.dtype), command::shape_text(data.shape));
  }
};

std::vector<std::string> dims_of(const Leaf& leaf) {
  std::vector<std::string> dims;
  for (size_t axis = 0; axis < leaf.data.shape.size(); ++axis) {
    const bool named = !leaf.dims.empty() && !leaf.dims[axis].empty();
    dims.push_back(named ? leaf.dims[axis] : cat(leaf.data.shape[axis]));
  }
  return dims;
}

}  // namespace

int onnx_code(ir::DType dtype) {
  for (int code = 1; code < 64; ++code) {
    if (ops::dtype_of_onnx(code) == dtype) return code;
  }
  GS_CHECK(false, ir::name_of(dtype), " has no ONNX type");
}

const Leaf* Recipe::leaf(std::string_view name) const {
  const auto found = std::ranges::find(leaves, name, &Leaf::name);
  return found == leaves.end() ? nullptr : &*found;
}

void Recipe::prune() {
  std::set<std::string> needed(outputs.begin(), outputs.end());
  for (size_t at = steps.size(); at-- > 0;) {
    const bool used = std::ranges::any_of(
        steps[at].outputs, [&](const std::string& name) { return needed.contains(name); });
    if (used)
      needed.insert(steps[at].inputs.begin(), steps[at].inputs.end());
    else
      steps.erase(steps.begin() + static_cast<ptrdiff_t>(at));
  }
  std::erase_if(leaves, [&](const Leaf& leaf) { return !needed.contains(leaf.name); });
}

std::string to_onnx(const Recipe& recipe) {
  onnx::GraphParts parts;
  std::map<std::string, int> opsets{{"", 0}};
  for (const ops::OpDef& def : ops::builtin_catalog().entries()) {
    if (def.domain.empty()) opsets[""] = std::max(opsets[""], def.since);
  }
  for (const Leaf& leaf : recipe.leaves) {
    if (leaf.constant)
      parts.initializers.push_back(tensor(leaf.name, leaf.data));
    else
      parts.inputs.push_back(onnx::value(leaf.name, dims_of(leaf), onnx_code(leaf.data.dtype)));
  }
  for (const Step& step : recipe.steps) {
    std::vector<Message> attributes;
    for (const auto& [name, value] : step.attributes)
      attributes.push_back(std::visit(WriteAttribute{name}, value));
    parts.nodes.push_back(onnx::node(step.def->name, step.inputs, step.outputs, attributes,
                                     "make_" + step.outputs[0], step.def->domain));
    int& version = opsets[step.def->domain];
    version = std::max(version, step.def->since);
  }
  for (const std::string& output : recipe.outputs)
    parts.outputs.push_back(Message().text(1, output));
  Message model = Message().integer(1, 10);
  for (const auto& [domain, version] : opsets) model.add(8, onnx::opset(version, domain));
  return model.add(7, onnx::graph(parts)).bytes;
}

std::string to_text(const Recipe& recipe) {
  std::string text = cat("graph ", recipe.seed, "\n");
  for (const Leaf& leaf : recipe.leaves) {
    text += cat(leaf.constant ? "  constant " : "  input ", leaf.name, ": ",
                PrintAttribute::type_text(leaf.data));
    std::string named;
    for (const std::string& dim : dims_of(leaf)) named += cat(named.empty() ? "" : ", ", dim);
    if (!leaf.dims.empty()) text += cat(" as [", named, "]");
    const int64_t count = leaf.data.element_count();
    std::string values;
    for (int64_t at = 0; at < std::min<int64_t>(leaf.data.bytes.empty() ? 0 : count, 12); ++at) {
      char number[32];
      std::snprintf(number, sizeof number, " %.9g", command::element(leaf.data, at));
      values += number;
    }
    text += cat(" =", values, count > 12 ? " ..." : "", "\n");
  }
  for (const Step& step : recipe.steps) {
    std::string outputs, operands;
    for (const std::string& name : step.outputs) outputs += cat(outputs.empty() ? "" : ", ", name);
    for (const std::string& name : step.inputs)
      operands += cat(operands.empty() ? "" : ", ", name.empty() ? "-" : name);
    text += cat("  ", outputs, " = ", step.def->domain, step.def->domain.empty() ? "" : ".",
                step.def->name, "(", operands, ")");
    for (const auto& [name, value] : step.attributes)
      text += cat(" ", name, "=", std::visit(PrintAttribute{}, value));
    text += "\n";
  }
  text += "  outputs";
  for (const std::string& name : recipe.outputs) text += cat(" ", name);
  return text + "\n";
}

std::string to_pb(const std::string& name, const TensorData& data) {
  return tensor(name, data).bytes;
}

}  // namespace gossamer::fuzz
