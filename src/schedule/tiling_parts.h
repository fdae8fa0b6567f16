// What the files that choose default tilings share.
#pragma once

#include <cstdint>

#include "schedule/tiling.h"

namespace gossamer::schedule {

int64_t extent_or(const ir::Expr& extent, int64_t fallback);
// Estimated where a run tells it; 1 for axis -1.
int64_t extent_at(const ops::Stage& stage, int axis);
bool moves(const ir::Load& load, const ir::Var& axis);
// Vectors along the axis that the output's layout asks for.
void choose_vector(const ops::Stage& stage, const Capabilities& caps, Tiling& tiling);

}  // namespace gossamer::schedule
