// Lowers the operator Gradient (graph/gradient_op.h): adjoint stages behind those of the nodes so
// far.
#pragma once

#include "graph/gradient_op.h"
#include "lower/graph_lowering.h"

namespace gossamer::graph {

// The tensors that gradients of a graph's nodes are taken of: they must stay tensors of their own.
std::unordered_set<ValueId> gradient_variables(const Graph& graph);

Result<> lower_gradient(const Graph& graph, const Node& node, Values& values,
                        GraphLowering& lowering);

}  // namespace gossamer::graph
