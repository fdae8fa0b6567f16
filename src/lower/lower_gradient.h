// Lowers the operator Gradient (graph/gradient_op.h): adjoint stages behind those of the nodes so
// far.
#pragma once

#include "graph/gradient_op.h"
#include "lower/graph_lowering.h"

namespace gossamer::lower {

// The tensors that gradients of a graph's nodes are taken of: they must stay tensors of their own.
std::unordered_set<graph::ValueId> gradient_variables(const graph::Graph& graph);

Result<> lower_gradient(const graph::Graph& graph, const graph::Node& node, Values& values,
                        GraphLowering& lowering);

}  // namespace gossamer::lower
