// models.wasm compiles models and never differentiates: a model with a Gradient node has an unknown
// operator.
#include "lower/lower_gradient.h"

namespace gossamer::graph {

const ops::OpDef* gradient_op(std::string_view, std::string_view) { return nullptr; }

bool is_gradient(const Node&) { return false; }

}  // namespace gossamer::graph

namespace gossamer::lower {

std::unordered_set<graph::ValueId> gradient_variables(const graph::Graph&) { return {}; }

Result<> lower_gradient(const graph::Graph&, const graph::Node&, Values&, GraphLowering&) {
  return {};
}

}  // namespace gossamer::lower
