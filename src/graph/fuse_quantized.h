#pragma once

#include "graph/graph.h"

namespace gossamer::graph {

// Operators between DequantizeLinear and QuantizeLinear become the forms of them that compute on
// the integers (OpDef::quantized), where the parameters allow it: sums of integers are exact, and
// are rounded once, as other run times for such models do. What it cannot fuse stays as it is.
Graph fuse_quantized(Graph graph, const ops::Catalog& catalog);

}  // namespace gossamer::graph
