#include "gossamer/specialize.h"

#include "ir/build.h"

namespace gossamer::command {
namespace {

constexpr int64_t most_elements = 1024;

}  // namespace

bool asks_for_values(const Diagnostic& error) {
  return error.message.find("known when compiling") != std::string::npos;
}

KnownInputs small_inputs(const std::vector<Port>& ports, const std::vector<ops::TensorData>& feeds,
                         int level) {
  KnownInputs known;
  for (size_t i = 0; i < ports.size() && i < feeds.size(); ++i) {
    const ir::DType dtype = feeds[i].dtype;
    const bool whole =
        (level > 0 || i > 0) &&
        (dtype == ir::DType::i64 || dtype == ir::DType::i32 || dtype == ir::DType::boolean);
    const bool single = level > 1 && i > 0 && dtype == ir::DType::f32;
    if ((whole || single) && feeds[i].element_count() <= most_elements)
      known[ports[i].name] = feeds[i];
  }
  return known;
}

std::string names_of(const KnownInputs& known) {
  std::string text;
  for (const auto& [name, data] : known) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<Port> ports_of(const graph::Graph& graph) {
  std::vector<Port> ports;
  for (graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.values[id];
    std::vector<int64_t> shape;
    for (const ir::Expr& extent : value.shape) shape.push_back(ir::as_int(extent).value_or(-1));
    ports.push_back({value.name, value.dtype, std::move(shape)});
  }
  return ports;
}

}  // namespace gossamer::command
