// States that grow by rows where they lie: caches of keys and values.
#pragma once

#include "graph/stage_graph.h"

namespace gossamer::graph {

// Where an output is an input of a symbolic length with rows behind it (a Concat of the past and
// what is new), both become one tensor with room for more rows than there are, and only the new
// ones are written. Room is a dimension that a run time chooses (Dim::rows). Programs
// with steps stay as they are. Runs after fusion.
void append_rows(StageGraph&);

}  // namespace gossamer::graph
