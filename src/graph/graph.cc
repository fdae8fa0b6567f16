#include "graph/graph.h"

namespace gossamer::graph {

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

std::string element_name(const std::string& name, size_t index) { return cat(name, ".", index); }

}  // namespace gossamer::graph
