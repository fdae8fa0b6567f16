// Writes small models, for tests and for operator cases: protobuf messages as strings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/message.h"

namespace gossamer::onnx {

inline Message opset(int version, std::string_view domain = "") {
  return Message().text(1, domain).integer(2, version);
}

inline Message attribute(std::string_view name, int64_t value) {
  return Message().text(1, name).integer(3, value).integer(20, 2);
}
inline Message attribute(std::string_view name, float value) {
  return Message().text(1, name).real(2, value).integer(20, 1);
}
inline Message attribute(std::string_view name, std::string_view value) {
  return Message().text(1, name).text(4, value).integer(20, 3);
}
inline Message attribute(std::string_view name, const std::vector<int64_t>& values) {
  Message message = Message().text(1, name).integer(20, 7);
  for (int64_t value : values) message.integer(8, value);
  return message;
}
inline Message attribute(std::string_view name, const std::vector<float>& values) {
  Message message = Message().text(1, name).integer(20, 6);
  for (float value : values) message.real(7, value);
  return message;
}
inline Message graph_attribute(std::string_view name, const Message& graph) {
  return Message().text(1, name).add(6, graph).integer(20, 5);
}

inline Message node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<Message>& attributes = {}, std::string_view name = "",
                    std::string_view domain = "") {
  Message message;
  for (const std::string& input : inputs) message.text(1, input);
  for (const std::string& output : outputs) message.text(2, output);
  if (!name.empty()) message.text(3, name);
  message.text(4, op);
  for (const Message& one : attributes) message.add(5, one);
  if (!domain.empty()) message.text(7, domain);
  return message;
}

template <class T>
Message tensor(std::string_view name, int type, const std::vector<int64_t>& dims,
               const std::vector<T>& values) {
  Message message;
  for (int64_t dim : dims) message.integer(1, dim);
  message.integer(2, type).text(8, name);
  return message.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}
inline Message floats(std::string_view name, const std::vector<int64_t>& dims,
                      const std::vector<float>& values) {
  return tensor(name, 1, dims, values);
}
inline Message int64s(std::string_view name, const std::vector<int64_t>& dims,
                      const std::vector<int64_t>& values) {
  return tensor(name, 7, dims, values);
}

// A dimension is a number, or a name ("" for an unnamed dynamic one).
inline Message value(std::string_view name, const std::vector<std::string>& dims, int type = 1) {
  Message shape;
  for (const std::string& dim : dims) {
    Message one;
    bool number = !dim.empty() && dim.find_first_not_of("-0123456789") == std::string::npos;
    if (number) one.integer(1, std::stoll(dim));
    if (!number && !dim.empty()) one.text(2, dim);
    shape.add(1, one);
  }
  return Message().text(1, name).add(2, Message().add(1, Message().integer(1, type).add(2, shape)));
}

struct GraphParts {
  std::vector<Message> inputs, nodes, outputs, initializers = {};
};
inline Message graph(const GraphParts& parts) {
  Message message;
  for (const Message& one : parts.nodes) message.add(1, one);
  message.text(2, "test");
  for (const Message& one : parts.initializers) message.add(5, one);
  for (const Message& one : parts.inputs) message.add(11, one);
  for (const Message& one : parts.outputs) message.add(12, one);
  return message;
}
inline Message model(const GraphParts& parts, int version = 21,
                     const std::vector<Message>& functions = {}) {
  Message message = Message().integer(1, 8).add(8, opset(version)).add(7, graph(parts));
  for (const Message& one : functions) message.add(25, one);
  return message;
}
inline std::span<const std::byte> bytes_of(const Message& message) {
  return std::as_bytes(std::span(message.bytes));
}

}  // namespace gossamer::onnx
