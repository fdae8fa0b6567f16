// Which dimensions of a model's inputs may be 0.
#pragma once

#include <unordered_set>

#include "graph/graph.h"

namespace gossamer::graph {

// Those that nodes only join to others, as a decoder does with what it keeps of the tokens before:
// a text begins with none. All others are at least 1, which gives better kernels and tells a user
// of a feed that has nothing in it.
std::unordered_set<const ir::VarNode*> dims_that_may_be_empty(const Graph& graph);

}  // namespace gossamer::graph
