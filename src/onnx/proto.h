// ONNX's messages as parsed: names and data are views of the model's bytes, nothing is resolved
// yet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/wire.h"

namespace gossamer::onnx {

struct ProtoGraph;

struct ProtoTensor {
  std::string_view name;
  std::vector<int64_t> dims;
  int data_type = 0;         // ONNX's number
  Bytes message;             // the whole message: typed data fields are read from it on demand
  std::optional<Bytes> raw;  // raw_data
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
};

// A SparseTensorProto: values at places of a tensor of zeros.
struct ProtoSparse {
  ProtoTensor values;   // of rank 1; its name is the tensor's
  ProtoTensor indices;  // i64, one number a value (row-major), or one row of places a value
  std::vector<int64_t> dims;
};

struct ProtoAttribute {
  enum Kind : uint8_t {  // numbered as ONNX does
    undefined,
    real,
    integer,
    text,
    tensor,
    graph,
    reals,
    integers,
    texts,
    tensors,
    graphs,
    sparse_tensor,
    sparse_tensors,
    type,
    types
  };
  std::string_view name;
  std::string_view reference;  // ref_attr_name: the attribute of the enclosing function's call
  Kind kind = undefined;
  double number = 0;
  int64_t value = 0;
  std::string_view string;
  std::vector<double> numbers;
  std::vector<int64_t> values;
  std::vector<std::string_view> strings;
  std::unique_ptr<ProtoTensor> data;
  std::unique_ptr<ProtoSparse> sparse;
  std::vector<std::unique_ptr<ProtoGraph>> bodies;
};

struct ProtoNode {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<ProtoAttribute> attributes;
};

struct ProtoDim {
  std::optional<int64_t> value;
  std::string_view param;
};
// Where the model gives none, the input and the axis.
std::string name_of_dim(const ProtoDim& dim, std::string_view input, size_t axis);

struct ProtoValue {
  std::string_view name;
  bool is_tensor = false;  // in the end: the two below may stand around it
  bool is_sequence = false, is_optional = false;
  int element_type = 0;
  bool has_shape = false;
  std::vector<ProtoDim> dims;
  // What PyTorch's exporter says about an initializer: "PARAMETER", "BUFFER", ...
  std::string_view kind;
  bool folded = false;  // it was computed from others when the model was exported
};

// Keys of the metadata that say so.
constexpr std::string_view kind_key = "pkg.torch.export.graph_signature.InputSpec.kind";
constexpr std::string_view folded_key = "pkg.onnxscript.optimizer.folded_from";
constexpr std::string_view parameter_kind = "PARAMETER";
constexpr std::string_view buffer_kind = "BUFFER";

struct ProtoGraph {
  std::string_view name;
  std::vector<ProtoNode> nodes;
  std::vector<ProtoTensor> initializers;
  std::vector<ProtoValue> inputs, outputs, values;
  std::vector<ProtoSparse> sparse_initializers;
};

struct ProtoOpset {
  std::string_view domain;
  int64_t version = 0;
};

struct ProtoFunction {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<ProtoAttribute> defaults;
  std::vector<ProtoNode> nodes;
  std::vector<ProtoOpset> opsets;
};

struct ProtoModel {
  int64_t ir_version = 0;
  std::vector<ProtoOpset> opsets;
  std::optional<ProtoGraph> graph;
  std::vector<ProtoFunction> functions;
};

constexpr int max_graph_depth = 64;

// Views of `bytes`, which must outlive the result. Errors: not protobuf, truncated, graphs nested
// more than max_graph_depth deep, more parts than any real model has.
Result<ProtoModel> parse_model(Bytes bytes);
Result<ProtoTensor> parse_tensor(Bytes bytes);

// A SequenceProto or OptionalProto of tensors, as test data has them.
struct ProtoItem {
  std::string_view name;
  bool is_sequence = false;  // else an optional that holds nothing, or one tensor
  std::vector<ProtoTensor> tensors;
};
Result<ProtoItem> parse_sequence(Bytes bytes);
Result<ProtoItem> parse_optional(Bytes bytes);

}  // namespace gossamer::onnx
