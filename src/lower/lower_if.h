// If: the branch that a known condition takes, or both between steps of the host program.
#pragma once

#include "lower/graph_lowering.h"

namespace gossamer::lower {

// `values`: of the graph that the node is in; gets the node's outputs.
Result<> lower_if(const graph::Node& node, Values& values, GraphLowering& lowering);

}  // namespace gossamer::lower
