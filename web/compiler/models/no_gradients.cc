// models.wasm compiles models and never differentiates: a model with a Gradient node has an unknown
// operator.
#include "lower/lower_gradient.h"

namespace gossamer::graph {

const ops::OpDef* gradient_op(std::string_view, std::string_view) { return nullptr; }

bool is_gradient(const Node&) { return false; }

std::unordered_set<ValueId> gradient_variables(const Graph&) { return {}; }

Result<> lower_gradient(const Graph&, const Node&, Values&, GraphLowering&) { return {}; }

}  // namespace gossamer::graph
