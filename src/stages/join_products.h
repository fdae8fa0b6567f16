#pragma once

#include "stages/stage_graph.h"

namespace gossamer::stages {

// Products of one operand with different packed constants (queries, keys and values; experts that
// all tokens see) become one product with wider constants, which are joined once, at load: one
// launch instead of several. Run after fusion, where launches cost much.
void join_products(StageGraph&);

}  // namespace gossamer::stages
