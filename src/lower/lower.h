// From a graph to stages.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "graph/graph.h"
#include "stages/stage_graph.h"

namespace gossamer::lower {

// The most elements of a tensor that any target can count.
constexpr int64_t most_elements = int64_t{1} << 40;

// Runs every node's define (decomposing composed ones), with host values and shapes propagated.
// Dead stages, and stages that only feed host values, are dropped. No tensor, also of those that
// will be fused away, has more than `most` elements: an error, or a check of the run.
Result<stages::StageGraph> lower(const graph::Graph& graph, const ops::Catalog& catalog,
                                 int64_t most = most_elements);

}  // namespace gossamer::lower
