// Loop: rounds between steps of the host program (repeat.h), or one after the other where they
// carry sequences and their number is known, or differ in more than numbers (unroll_loop.h).
#pragma once

#include "lower/graph_lowering.h"

namespace gossamer::lower {

// `values`: of the graph that the node is in; gets the node's outputs.
Result<> lower_loop(const graph::Node& node, Values& values, GraphLowering& lowering);

}  // namespace gossamer::lower
