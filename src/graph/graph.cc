#include "graph/graph.h"

namespace gossamer::graph {

using stages::ConstantSource;

ConstantSource source_of(const ops::TensorData& data) {
  ConstantSource source;
  source.dtype = data.dtype;
  source.shape = data.shape;
  source.bytes = data.bytes;
  source.strings = data.strings;
  return source;
}

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

std::string element_name(const std::string& name, size_t index) { return cat(name, ".", index); }

}  // namespace gossamer::graph
