// Writes the nodes of an ONNX model.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/file.h"
#include "onnx/model_writer.h"

namespace gossamer::gguf {

class NodeWriter {
 public:
  using Attributes = std::vector<onnx::Message>;

  // `location`: the file that tensors are ranges of, from the model's folder.
  explicit NodeWriter(std::string location) : location_(std::move(location)) {}

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
  // A tensor as the file has it: numbers, or bytes [rows, blocks, bytes of a block].
  std::string tensor(const Tensor& tensor);
  // The model's bytes.
  std::string model() const;

 private:
  std::string location_;
  onnx::Message graph_;
  std::set<std::string_view> tensors_;
  int64_t made_ = 0;
};

}  // namespace gossamer::gguf
