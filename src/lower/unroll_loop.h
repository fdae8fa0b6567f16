// All rounds of a Loop one after the other: it may carry sequences, whose length may differ from
// round to round.
#pragma once

#include "lower/graph_lowering.h"

namespace gossamer::lower {

// At most `rounds`; what the condition is after each must be known. `values`: of the graph that the
// node is in; gets the node's outputs.
Result<> unroll_loop(const graph::Node& node, Values& values, int64_t rounds,
                     GraphLowering& lowering);

}  // namespace gossamer::lower
