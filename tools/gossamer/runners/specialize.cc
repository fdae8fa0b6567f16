#include "gossamer/runners/specialize.h"

#include <algorithm>

#include "ir/build.h"
#include "ops/host_value.h"

namespace gossamer::command {
namespace {

constexpr int64_t most_elements = 1024;

std::vector<onnx::Known> alternatives(const std::vector<Port>& ports,
                                      const std::vector<stages::PortGroup>& groups,
                                      const std::vector<ops::TensorData>& feeds) {
  onnx::Known later, integers, numbers, shapes;
  bool dynamic = false;
  // The elements of a sequence become constants together or not at all, which sizes decide; their
  // shapes are what matters.
  std::vector<bool> in_group(ports.size());
  for (const stages::PortGroup& group : groups) {
    for (int i = 0; !group.output && i < group.count; ++i)
      in_group[static_cast<size_t>(group.first) + static_cast<size_t>(i)] = true;
  }
  for (size_t i = 0; i < ports.size() && i < feeds.size(); ++i) {
    shapes.shapes[ports[i].name] = feeds[i].shape;
    for (int64_t extent : ports[i].shape) dynamic = dynamic || extent < 0;
    if (in_group[i]) continue;
    const ir::DType dtype = feeds[i].dtype;
    const std::string& name = ports[i].name;
    const bool small = feeds[i].element_count() <= most_elements && ops::can_be_host(dtype);
    const bool whole = !ir::is_float(dtype);
    if (small && whole && i > 0) later.constants[name] = feeds[i];
    if (small && whole) integers.constants[name] = numbers.constants[name] = feeds[i];
    if (small && i > 0) numbers.constants[name] = feeds[i];
  }
  if (!dynamic) return {later, integers, numbers};
  onnx::Known both = shapes;
  both.constants = integers.constants;
  return {later, integers, numbers, shapes, both};
}

}  // namespace

bool asks_for_feeds(const Diagnostic& error) {
  return error.message.find("known when compiling") != std::string::npos;
}

Result<> specialize(const std::vector<Port>& ports, const std::vector<stages::PortGroup>& groups,
                    const std::vector<ops::TensorData>& feeds,
                    const std::function<Result<>(const onnx::Known&)>& attempt) {
  Result<> done = attempt({});
  if (done || !asks_for_feeds(done.error())) return done;
  for (const onnx::Known& known : alternatives(ports, groups, feeds)) {
    done = attempt(known);
    if (done || !asks_for_feeds(done.error())) break;
  }
  return done;
}

std::vector<ops::TensorData> left_of(const std::vector<Port>& ports,
                                     const std::vector<ops::TensorData>& feeds,
                                     const onnx::Known& known) {
  std::vector<ops::TensorData> left;
  for (size_t i = 0; i < ports.size(); ++i)
    if (!known.constants.contains(ports[i].name)) left.push_back(feeds[i]);
  return left;
}

std::string names_of(const onnx::Known& known) {
  std::string text;
  for (const auto& [name, data] : known.constants) text += (text.empty() ? "" : ", ") + name;
  if (!known.shapes.empty()) text += text.empty() ? "shapes of inputs" : ", shapes of inputs";
  return text;
}

std::vector<Port> ports_of(const graph::Graph& graph) {
  std::vector<Port> ports;
  for (graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.values[id];
    Port port{value.name, value.dtype, {}};
    for (const ir::Expr& extent : value.shape)
      port.shape.push_back(ir::as_int(extent).value_or(-1));
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace gossamer::command
