// SequenceMap: its body's stages for each element of a sequence.
#pragma once

#include "lower/graph_lowering.h"

namespace gossamer::lower {

// `values`: of the graph that the node is in; gets the node's outputs.
Result<> lower_sequence_map(const graph::Node& node, Values& values, GraphLowering& lowering);

}  // namespace gossamer::lower
