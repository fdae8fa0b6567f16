#include "graph/graph.h"

namespace gossamer::graph {

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

}  // namespace gossamer::graph
