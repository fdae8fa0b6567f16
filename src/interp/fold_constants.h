#pragma once

#include <cstddef>

#include "stages/stage_graph.h"

namespace gossamer::interp {

// Evaluates stages whose inputs are all constants if the result is at most `limit` bytes.
void fold_constants(stages::StageGraph&, size_t limit = 4096);

}  // namespace gossamer::interp
