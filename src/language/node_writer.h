// Writes the nodes of an ONNX model.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "language/weights.h"
#include "onnx/model_writer.h"

namespace gossamer::language {

// Types of elements, of TensorProto.DataType.
constexpr int64_t onnx_f32 = 1, onnx_u8 = 2, onnx_f16 = 10, onnx_bf16 = 16;

class NodeWriter {
 public:
  using Attributes = std::vector<onnx::Message>;

  explicit NodeWriter(Weights& weights) : weights_(weights) {}

  // Dimensions as onnx::value has them. The name.
  std::string input(std::string name, const std::vector<std::string>& dims, int type);
  void output(std::string_view name) { graph_.add(12, onnx::Message().text(1, name)); }
  // An operator of the standard domain, or "DOMAIN::NAME". `name`: of its first output, made up
  // where it is empty. `others`: its other outputs.
  std::string node(std::string_view op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {}, std::string name = {},
                   const std::vector<std::string>& others = {});
  std::string integers(const std::vector<int64_t>& values);
  std::string integer(int64_t value);
  std::string reals(const std::vector<float>& values);
  std::string real(double value);
  struct Written {
    std::string name;
    int64_t type = 0;                          // of ONNX
    const ops::BlockFormat* format = nullptr;  // of bytes [rows, blocks, bytes of a block]
  };
  // A tensor that there is, as its file has it.
  Result<Written> tensor(std::string_view name);
  // The model's bytes.
  std::string model() const;

 private:
  Weights& weights_;
  onnx::Message graph_;
  std::map<std::string, Written, std::less<>> tensors_;
  int64_t made_ = 0;
};

}  // namespace gossamer::language
