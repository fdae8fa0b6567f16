// What the files that write default lists share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "autoschedule/tiling.h"
#include "target/costs.h"

namespace gossamer::autoschedule {

int64_t extent_or(const ir::Expr& extent, int64_t fallback);
// Estimated where a run tells it; 1 for axis -1.
int64_t extent_at(const stages::Stage& stage, int axis);

// Vectors along the axis that the output's layout asks for; axis -1: scalars, or texels.
struct Vector {
  int axis = -1, lanes = 1;
};
Vector vector_of(const stages::Stage& stage, const target::Capabilities& caps);

// The rows of a tile: an axis, fused with the one before it (-1: none) where both are one.
std::string rows_named(int joined_axis, int axis);
// A reduction in register tiles.
schedule::List register_list(const stages::Stage& stage, const Tiling& tiling,
                             const target::Capabilities& caps);

// The axes of a workgroup's tile of a product: its vectors' and their lanes, its rows', and the
// reduction's that is walked in blocks.
struct TileAxes {
  Vector vector;
  int joined_row = -1, row = -1, step = 0;
};
schedule::List group_tile_list(const stages::Stage& stage, const TileAxes& axes,
                               const target::GroupTile& tile);
// Where GPUs have such tiles; none: the stage has no use for one.
std::optional<schedule::List> group_tile_list(const stages::Stage& stage,
                                              const target::Capabilities& caps);
// Few points with long reductions, which several invocations share. None: the register tiles
// suffice for all processors.
std::optional<schedule::List> parted_list(const stages::Stage& stage, const Tiling& tiling,
                                          const target::Capabilities& caps);
// The work items of a workgroup share what is left of a launch.
void bind_group(std::string_view invocations, schedule::List& list);

}  // namespace gossamer::autoschedule
