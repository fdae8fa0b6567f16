// States that grow by rows where they lie: caches of keys and values.
#pragma once

#include "stages/stage_graph.h"

namespace gossamer::stages {

// Where an output is an input of a symbolic length with new rows (Builder::append, or a Concat of
// the past and what is new), both become one tensor with room for more rows than there are, and
// only the new ones are written. Room is a dimension that a run time chooses (Dim::rows). Programs
// with steps stay as they are. Runs after fusion.
// `inline_new`: what new rows alone are computed from is computed in one launch with them.
void append_rows(StageGraph&, bool inline_new = false);

// What still continues an input (Stage::fresh) is a copy of it from here on.
void copy_rows(StageGraph&);

}  // namespace gossamer::stages
