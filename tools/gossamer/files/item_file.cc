#include "gossamer/files/item_file.h"

#include <algorithm>
#include <set>

#include "onnx/proto.h"
#include "onnx/tensor.h"

namespace gossamer::command {

namespace {

Declared declared(const onnx::ProtoValue& value) {
  return {std::string(value.name), value.is_sequence, value.is_optional,
          value.has_shape || !value.is_tensor};
}

}  // namespace

Result<Signature> signature_of(const Bytes& model) {
  GS_ASSIGN(const onnx::ProtoModel proto, onnx::parse_model(model));
  Signature signature;
  std::set<std::string_view> constants;
  for (const onnx::ProtoTensor& tensor : proto.graph->initializers) constants.insert(tensor.name);
  for (const onnx::ProtoValue& value : proto.graph->inputs) {
    signature.all_inputs.push_back(declared(value));
    if (!constants.contains(value.name)) signature.inputs.push_back(declared(value));
  }
  for (const onnx::ProtoValue& value : proto.graph->outputs)
    signature.outputs.push_back(declared(value));
  return signature;
}

bool Signature::has_default(const std::string& name) const {
  const auto has = [&](const std::vector<Declared>& list) {
    return std::ranges::find(list, name, &Declared::name) != list.end();
  };
  return has(all_inputs) && !has(inputs);
}

bool is_default(const Bytes& model, const std::string& name, const ops::TensorData& value) {
  const auto proto = onnx::parse_model(model);
  if (!proto) return false;
  for (const onnx::ProtoTensor& tensor : proto->graph->initializers) {
    if (tensor.name != name) continue;
    const auto initializer = tensor_of(tensor);
    return initializer && initializer->data.dtype == value.dtype &&
           initializer->data.shape == value.shape && initializer->data.bytes == value.bytes &&
           initializer->data.strings == value.strings;
  }
  return false;
}

Result<NamedItem> read_item_file(const std::filesystem::path& path, const Declared& declared) {
  const bool special = !declared.is_plain() && path.extension() == ".pb";
  if (!special) {
    GS_ASSIGN(NamedTensor tensor, read_tensor_file(path));
    NamedItem item{std::move(tensor.name), declared.is_sequence, {}};
    item.tensors.push_back(std::move(tensor.data));
    return item;
  }
  GS_ASSIGN(const Bytes bytes, read_file(path));
  const auto parse = [&]() -> Result<NamedItem> {
    GS_ASSIGN(const onnx::ProtoItem proto,
              declared.is_optional ? onnx::parse_optional(bytes) : onnx::parse_sequence(bytes));
    NamedItem item{std::string(proto.name), proto.is_sequence, {}};
    for (const onnx::ProtoTensor& tensor : proto.tensors) {
      GS_ASSIGN(NamedTensor one, tensor_of(tensor));
      item.tensors.push_back(std::move(one.data));
    }
    return item;
  };
  auto item = parse();
  if (!item) return fail_at(path.string(), item.error().message, item.error().hint);
  return item;
}

void tell(const Declared& declared, const NamedItem& item, onnx::Known& known) {
  if (!declared.is_plain()) {
    const bool nothing = !item.is_sequence && item.tensors.empty();
    known.lengths[declared.name] = nothing ? -1 : static_cast<int64_t>(item.tensors.size());
  }
  for (size_t i = 0; i < item.tensors.size() && !declared.has_shape; ++i) {
    const std::string name =
        item.is_sequence ? graph::element_name(declared.name, i) : declared.name;
    known.shapes[name] = item.tensors[i].shape;
  }
}

}  // namespace gossamer::command
