// Values of a model's signature in files: a tensor, or ONNX's SequenceProto and OptionalProto
// (.pb).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "gossamer/files/model_file.h"
#include "gossamer/files/tensor_file.h"

namespace gossamer::command {

// How an input or output is declared.
struct Declared {
  std::string name;
  bool is_sequence = false, is_optional = false, has_shape = true;
  bool is_plain() const { return !is_sequence && !is_optional; }
};
struct Signature {
  std::vector<Declared> inputs, outputs;  // without initializers
  std::vector<Declared> all_inputs;       // with those that are listed among the inputs
  bool has_default(const std::string& name) const;
};
// Errors: no ONNX model.
Result<Signature> signature_of(const Bytes& model);

// Whether the initializer `name` of a model has this value.
bool is_default(const Bytes& model, const std::string& name, const ops::TensorData& value);

struct NamedItem {
  std::string name;
  bool is_sequence = false;  // else one tensor, or none: an optional that holds nothing
  std::vector<ops::TensorData> tensors;
};
Result<NamedItem> read_item_file(const std::filesystem::path& path, const Declared& declared);

// What the reader of a model must know of an input with this value.
void tell(const Declared& declared, const NamedItem& item, onnx::Known& known);

}  // namespace gossamer::command
