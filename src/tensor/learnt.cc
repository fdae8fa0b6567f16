#include "tensor/learnt.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/strings.h"

namespace gossamer::tensor {
namespace {

using graph::no_value;
using graph::Part;
using graph::ValueId;

// How a value is read.
enum Use : uint8_t {
  as_weight = 1,
  elsewhere = 2,
  as_array = 4,  // as a weight where it has axes; a scalar is a number, such as an exponent
  carried = 8,   // what is made of it alone is read in its place
};

// Operators of ai.onnx, and how they read their inputs of these places (bits).
struct Reader {
  std::string_view op;
  Use use;
  uint32_t inputs;
};
constexpr uint32_t any_input = ~0u;
constexpr std::array readers{
    Reader{"Add", as_weight, any_input},
    Reader{"Sub", as_weight, any_input},
    Reader{"Mul", as_weight, any_input},
    Reader{"Div", as_weight, any_input},
    Reader{"Sum", as_weight, any_input},
    Reader{"Concat", as_weight, any_input},
    Reader{"MatMul", as_weight, any_input},
    Reader{"Gemm", as_weight, any_input},
    Reader{"Einsum", as_weight, any_input},
    Reader{"Conv", as_weight, 0b111},
    Reader{"ConvTranspose", as_weight, 0b111},
    Reader{"PRelu", as_weight, 0b10},
    Reader{"BatchNormalization", as_weight, 0b111},
    Reader{"InstanceNormalization", as_weight, 0b111},
    Reader{"LayerNormalization", as_weight, 0b111},
    Reader{"GroupNormalization", as_weight, 0b111},
    Reader{"RMSNormalization", as_weight, 0b11},
    Reader{"RNN", as_weight, 0b1110},
    Reader{"GRU", as_weight, 0b1110},
    Reader{"LSTM", as_weight, 0b10001110},
    Reader{"Gather", as_weight, 0b1},
    Reader{"Where", as_array, 0b110},
    Reader{"Pow", as_array, 0b10},
    Reader{"Pow", carried, 0b1},
    Reader{"Identity", carried, 0b1},
    Reader{"Transpose", carried, 0b1},
    Reader{"Reshape", carried, 0b1},
    Reader{"Flatten", carried, 0b1},
    Reader{"Squeeze", carried, 0b1},
    Reader{"Unsqueeze", carried, 0b1},
    Reader{"Expand", carried, 0b1},
    Reader{"Tile", carried, 0b1},
    Reader{"Slice", carried, 0b1},
    Reader{"Split", carried, 0b1},
    Reader{"Pad", carried, 0b1},
    Reader{"Resize", carried, 0b1},
    Reader{"Cast", carried, 0b1},
    Reader{"Clip", carried, 0b1},
    Reader{"Neg", carried, 0b1},
    Reader{"Abs", carried, 0b1},
    Reader{"Exp", carried, 0b1},
    Reader{"Log", carried, 0b1},
    Reader{"Sqrt", carried, 0b1},
    Reader{"Reciprocal", carried, 0b1},
    Reader{"Relu", carried, 0b1},
    Reader{"Sigmoid", carried, 0b1},
    Reader{"Softplus", carried, 0b1},
    Reader{"Tanh", carried, 0b1},
    Reader{"Softmax", carried, 0b1},
    Reader{"ReduceL2", carried, 0b1},
    Reader{"ReduceMean", carried, 0b1},
    Reader{"ReduceSum", carried, 0b1},
    Reader{"ReduceSumSquare", carried, 0b1},
};

Use use_of(const graph::Node& node, size_t input) {
  if (!node.def->domain.empty()) return elsewhere;
  for (const Reader& reader : readers) {
    const bool here = ((reader.inputs >> std::min<size_t>(input, 31)) & 1) != 0;
    if (here && reader.op == node.def->name) return reader.use;
  }
  return elsewhere;
}

bool is_statistic(const graph::Node& node, size_t input) {
  return node.def->domain.empty() && node.def->name == "BatchNormalization" && input >= 3;
}

bool may_be_learnt(const graph::Value& value) {
  return value.constant && ir::is_float(value.constant->dtype) && value.constant->packed == 1 &&
         (value.part == Part::initializer || value.part == Part::parameter);
}

bool is_filled(const stages::ConstantSource& source, std::span<const std::byte> file) {
  const auto bytes = bytes_of(source, file);
  const auto width = static_cast<size_t>(ir::byte_size(source.dtype));
  return bytes.size() >= width &&
         std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(width), bytes.end(), bytes.begin());
}

// What keeps a quotient or a root from a denominator of zero.
bool is_epsilon(const graph::Value& value, std::span<const std::byte> file) {
  const stages::ConstantSource& source = *value.constant;
  const auto bytes = bytes_of(source, file);
  if (source.dtype != ir::DType::f32 || !source.shape.empty() || bytes.size() != sizeof(float))
    return false;
  float number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number > 0 && number <= 1e-3f;
}

std::vector<uint32_t> count_readers(const graph::Graph& graph) {
  std::vector<uint32_t> counts(graph.values.size());
  for (const graph::Node& node : graph.nodes) {
    for (ValueId id : node.inputs)
      if (id != no_value) ++counts[id];
    for (const auto& region : node.regions) {
      if (!region) continue;
      for (const graph::Capture& capture : region->captures) ++counts[capture.outer];
    }
  }
  return counts;
}

void part_identities(graph::Graph& graph, std::span<const std::byte> file) {
  const std::vector<uint32_t> counts = count_readers(graph);
  std::erase_if(graph.nodes, [&](const graph::Node& node) {
    if (!node.def->domain.empty() || node.def->name != "Identity") return false;
    const ValueId from = node.inputs[0], to = node.outputs[0];
    if (from == no_value || to == no_value || counts[from] < 2) return false;
    const graph::Value& value = graph.values[from];
    if (!may_be_learnt(value) || value.constant->shape.empty() || !is_filled(*value.constant, file))
      return false;
    graph::Value parted = value;
    parted.name = graph.values[to].name;
    graph.values[to] = std::move(parted);
    return true;
  });
}

void part_statistics(graph::Graph& graph) {
  std::vector<uint8_t> read(graph.values.size());  // otherwise
  for (const graph::Node& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != no_value && !is_statistic(node, i)) read[node.inputs[i]] = 1;
  }
  for (graph::Node& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == no_value || !is_statistic(node, i) || !read[id]) continue;
      if (!may_be_learnt(graph.values[id])) continue;
      graph::Value parted = graph.values[id];
      parted.name = cat(node.name, i == 3 ? ".running_mean" : ".running_var");
      parted.part = Part::fixed;
      node.inputs[i] = graph.add_value(std::move(parted));
    }
  }
}

}  // namespace

std::span<const std::byte> bytes_of(const stages::ConstantSource& source,
                                    std::span<const std::byte> file) {
  if (source.file < 0) return source.bytes;
  return file.subspan(source.offset, source.length);
}

void part_merged(graph::Graph& graph, std::span<const std::byte> file) {
  part_identities(graph, file);
  part_statistics(graph);
}

std::vector<uint8_t> find_learnt(const graph::Graph& graph, std::span<const std::byte> file) {
  std::vector<uint8_t> uses(graph.values.size());
  // Readers come before what they read, so that what is carried on is known.
  for (size_t at = graph.nodes.size(); at-- > 0;) {
    const graph::Node& node = graph.nodes[at];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == no_value) continue;
      const Use use = use_of(node, i);
      if (use != carried) {
        const bool epsilon = node.def->name == "Add" && graph.values[id].constant &&
                             is_epsilon(graph.values[id], file);
        uses[id] |= epsilon ? elsewhere : use;
        continue;
      }
      for (ValueId made : node.outputs)
        if (made != no_value) uses[id] |= uses[made];
    }
    for (const auto& region : node.regions) {
      if (!region) continue;
      for (const graph::Capture& capture : region->captures) uses[capture.outer] |= elsewhere;
    }
  }
  std::vector<uint8_t> learnt(graph.values.size());
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const graph::Value& value = graph.values[id];
    if (!may_be_learnt(value)) continue;
    const bool scalar = value.constant->shape.empty();
    const uint8_t wanted = scalar ? as_weight : as_weight | as_array;
    const uint8_t unwanted = scalar ? elsewhere | as_array : elsewhere;
    const bool read = (uses[id] & wanted) != 0 && (uses[id] & unwanted) == 0;
    learnt[id] = read || value.part == Part::parameter;
  }
  return learnt;
}

}  // namespace gossamer::tensor
