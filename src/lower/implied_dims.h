// Dimensions of inputs that the model itself fixes.
#pragma once

#include "graph/graph.h"
#include "ir/estimate.h"
#include "stages/stage_graph.h"

namespace gossamer::lower {

// Checks of the lowered graph may leave a dimension one value: a cache whose width the file calls
// `kv_cache_dim` must have the width of the keys. With `least`, also dimensions of caches (inputs
// `past...`) that must be at least so large, such as the room for a window, which then are.
ir::VarValues implied_dims(const stages::StageGraph&, bool least);

// The graph with these dimensions fixed.
graph::Graph with_dims(graph::Graph, const ir::VarValues&);

}  // namespace gossamer::lower
