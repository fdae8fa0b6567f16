#include "language/node_writer.h"

namespace gossamer::language {

using onnx::Message;

std::string NodeWriter::input(std::string name, const std::vector<std::string>& dims, int type) {
  graph_.add(11, onnx::value(name, dims, type));
  return name;
}

std::string NodeWriter::node(std::string_view op, const std::vector<std::string>& inputs,
                             const Attributes& attributes, std::string name,
                             const std::vector<std::string>& others) {
  std::string_view domain;
  if (const size_t at = op.find("::"); at != std::string_view::npos) {
    domain = op.substr(0, at);
    op.remove_prefix(at + 2);
  }
  if (name.empty()) name = cat(op, ".", ++made_);
  std::vector<std::string> outputs = {name};
  outputs.insert(outputs.end(), others.begin(), others.end());
  graph_.add(1, onnx::node(op, inputs, outputs, attributes, name, domain));
  return name;
}

std::string NodeWriter::integers(const std::vector<int64_t>& values) {
  return node("Constant", {}, {onnx::attribute("value_ints", values)});
}

std::string NodeWriter::integer(int64_t value) {
  return node("Constant", {}, {onnx::attribute("value_int", value)});
}

std::string NodeWriter::reals(const std::vector<float>& values) {
  return node("Constant", {}, {onnx::attribute("value_floats", values)});
}

std::string NodeWriter::real(double value) {
  return node("Constant", {}, {onnx::attribute("value_float", static_cast<float>(value))});
}

Result<NodeWriter::Written> NodeWriter::tensor(std::string_view name) {
  if (const auto found = tensors_.find(name); found != tensors_.end()) return found->second;
  GS_ASSIGN(const Stored stored, weights_.stored(name));
  std::vector<int64_t> dims = *weights_.shape(name);
  Written written{std::string(name), stored.type, stored.format};
  if (stored.format) {
    written.type = onnx_u8;
    dims.back() /= stored.format->numbers;
    dims.push_back(stored.format->bytes);
  }
  Message message;
  for (const int64_t dim : dims) message.integer(1, dim);
  message.integer(2, written.type).text(8, name);
  const auto entry = [&](std::string_view key, std::string_view value) {
    message.add(13, Message().text(1, key).text(2, value));
  };
  entry("location", stored.file);
  entry("offset", cat(stored.offset));
  entry("length", cat(stored.length));
  graph_.add(5, message.integer(14, 1));
  tensors_.emplace(name, written);
  return written;
}

std::string NodeWriter::model() const {
  constexpr int version = 23;
  Message graph = graph_;
  graph.text(2, "main_graph");
  return Message()
      .integer(1, 10)
      .add(8, onnx::opset(version))
      .add(8, onnx::opset(1, "com.microsoft"))
      .add(8, onnx::opset(1, "ai.gossamer"))
      .add(7, graph)
      .bytes;
}

}  // namespace gossamer::language
