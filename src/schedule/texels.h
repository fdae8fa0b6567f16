// Placement that a texture's layout dictates: a fragment computes the texels of its place, so the
// grid counts texels in the order in which they lie.
#pragma once

#include "schedule/schedule.h"

namespace gossamer::schedule {

// Loops over physical axes: over texels, outermost first, then the array's layers, then the four
// values of a texel.
struct Texels {
  std::vector<LoopId> grid;
  std::optional<LoopId> layer, lane;
};

// Splits the axes of the output as its layout divides them. A flat layout counts all elements as
// one axis.
Result<Texels> split_by_layout(Schedule& schedule);

// Whether the grid of a schedule counts texels: see split_by_layout.
Result<> check_texels(const stages::Stage& stage, const Nest& nest);

}  // namespace gossamer::schedule
