// Default lists of stages, and the numbers of their register tiles.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schedule/list.h"
#include "stages/pattern.h"
#include "stages/stage.h"
#include "target/capabilities.h"

namespace gossamer::autoschedule {

// The numbers of a reduction's register tile.
struct Tiling {
  stages::Pattern pattern = stages::Pattern::reduce;
  int vector_axis = -1;  // axis of the stage that lies along vectors; -1: scalar, or texels
  int lanes = 1;         // elements of a vector
  int vectors = 1;       // vectors of a tile along vector_axis
  int row_axis = -1;     // axis of the stage that the rows of a tile run along; -1: none
  int joined_axis = -1;  // the axis before row_axis where both are walked as one; -1: none
  int rows = 1;          // rows of a tile
  int reduce_axis = -1;  // reduction axis walked in blocks, because an operand lies so; -1: none
  int reduce_block = 1;  // elements of such a block
  bool partial = false;  // a partial result for each lane of a block, where no axis of the stage
                         // lies along vectors
  int unroll = 1;        // iterations of the reduction in one straight piece (at most)
  bool rows_inside = false;  // tiles of rows are walked for one tile of columns after the other
  int row_tiles = 1;         // of one work item, where they share a cached factor; 1: all of them
  int cache = -1;  // the factor that a work item computes once for all of its tiles of rows, along
                   // row_axis; -1: none
};
// By the accesses and the target's capabilities.
Tiling default_tiling(const stages::Stage& stage, const target::Capabilities& capabilities);

// What the compiler chooses for a stage in a launch of its own, whose buffers have their layouts:
// by its pattern, the accesses, and the target's capabilities.
schedule::List default_list(const stages::Stage& stage, const target::Capabilities& capabilities);

// Vectors of a tile along `vector_axis` (-1: none) of a reduction none of whose operands rows would
// share: a product with one row, a sum of columns. Each step of a sum waits for the one before, so
// that several are under way; operands are packed in blocks of so many vectors.
int vectors_without_rows(const stages::Stage& stage, int vector_axis,
                         const target::Capabilities& caps);

}  // namespace gossamer::autoschedule
