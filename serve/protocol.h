// The Open Inference Protocol (KServe v2): what its JSON and its binary tensors say, as tensors of
// a model, and back. https://github.com/kserve/open-inference-protocol
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/model.h"

namespace gossamer::serve {

// A model as its clients know it.
struct Signature {
  std::string name, platform;
  std::vector<runtime::Port> inputs, outputs;
};

// The protocol's name of an element type, such as "FP32"; nothing for those it has no name for:
// ONNX's types of eight bits and less.
std::optional<std::string_view> datatype_of(ir::DType dtype);
std::optional<ir::DType> dtype_of(std::string_view datatype);

struct InferRequest {
  std::string id;                          // the client's own, given back; may be empty
  std::vector<runtime::HostTensor> feeds;  // one an input of the model, in its order
  struct Output {
    size_t port = 0;
    bool binary = false;  // as bytes behind the JSON, not as JSON numbers
  };
  std::vector<Output> outputs;  // those that are asked for, in the client's order
};

// The body of an infer request. `json_bytes`: how much of it is JSON, where binary tensors follow
// (the header Inference-Header-Content-Length). Numbers of JSON must be values of the input's type;
// NaN and Infinity are read as Python writes them, null is NaN. Errors: whatever a client can get
// wrong, with the tensor's name.
Result<InferRequest> parse_infer(const Signature& model, std::string_view body,
                                 std::optional<size_t> json_bytes = {});

struct InferResponse {
  std::string body;
  std::optional<size_t> json_bytes;  // set where binary tensors follow the JSON
};

// `outputs`: one an output of the model, in its order. JSON has no NaN and no infinities: they are
// null and 1e999, which JavaScript and Python read as an infinity.
InferResponse write_infer(const Signature& model, const InferRequest& request,
                          const std::vector<runtime::HostTensor>& outputs);

// GET v2, GET v2/models/NAME, and the body of every error.
std::string server_metadata(std::string_view version);
std::string model_metadata(const Signature& model);
std::string error_body(std::string_view message);

}  // namespace gossamer::serve
