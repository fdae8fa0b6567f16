// Scan: a Loop whose rounds read slices of inputs and stack their rows, along any axes, either way.
#pragma once

#include "lower/graph_lowering.h"

namespace gossamer::lower {

// `values`: of the graph that the node is in; gets the node's outputs.
Result<> lower_scan(const graph::Node& node, Values& values, GraphLowering& lowering);

}  // namespace gossamer::lower
