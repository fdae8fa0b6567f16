// What the default schedules share: where the loops over a stage's points go.
#pragma once

#include <optional>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/tiling.h"

namespace gossamer::schedule {

using Loops = std::vector<LoopId>;

// Loops over the output's points: those of the launch, outermost first, and a tile inside of them.
struct Points {
  Loops grid, tile;
  std::optional<LoopId> lane;
  std::optional<LoopId> tiles_of_rows = {};  // where it is none of the launch's
};

// Splits the output's axes: by its layout in textures, else into a register tile.
Result<Points> place_points(Schedule& schedule, const Tiling& tiling);

// The loop that a tile's rows run along: of row_axis, fused with joined_axis before it.
Result<LoopId> rows_of(Schedule& schedule, const Tiling& tiling);

// reorder, without the loops at either end that stand where they should.
Result<> arrange(Schedule& schedule, const Loops& wanted);

// unroll, without loops of one iteration.
Result<> unroll(Schedule& schedule, Loops loops);

// The tile in registers and vectors, the grid's loops fused and bound.
Result<> bind_points(Schedule& schedule, const Points& points, const Tiling& tiling);

}  // namespace gossamer::schedule
