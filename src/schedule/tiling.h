// The numbers of default schedules, and the lists that are written with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ops/stage.h"
#include "schedule/capabilities.h"
#include "schedule/list.h"

namespace gossamer::schedule {

// How a stage accesses memory; a default schedule stands for each, never for an operator.
enum class Pattern : uint8_t {
  map,          // a point from points
  reduce,       // a reduction of one operand
  window,       // a reduction of several operands, or of points that overlap
  contraction,  // a sum of products, where each operand stands still along some axis: tiles reuse
                // it
  scan,         // running results along an axis
  scatter,      // updates in order, to places that are data
};
std::string_view name_of(Pattern);
Pattern pattern_of(const ops::Stage& stage);

struct Tiling {
  Pattern pattern = Pattern::map;
  int vector_axis = -1;  // axis of the stage that lies along vectors; -1: scalar, or texels
  int lanes = 1;         // elements of a vector
  int vectors = 1;       // vectors of a register tile along vector_axis
  int row_axis = -1;     // axis of the stage that the rows of a register tile run along; -1: none
  int joined_axis = -1;  // the axis before row_axis where both are walked as one; -1: none
  int rows = 1;          // rows of a register tile
  int reduce_axis = -1;  // reduction axis walked in blocks, because an operand lies so; -1: none
  int reduce_block = 1;  // elements of such a block
  bool partial = false;  // a partial result for each lane of a block, where no axis of the stage
                         // lies along vectors
  int unroll = 1;        // iterations of the reduction in one straight piece (at most)
  int group_size = 1;    // invocations of a workgroup
  // Invocations of a workgroup along row_axis and vector_axis, whose tiles of both operands lie in
  // group memory, `reduce_block` iterations at a time; 1 x 1: each loads what it needs.
  int group_rows = 1, group_vectors = 1;
  bool ahead = false;  // the next tiles are read into registers while these are used
  // Invocations of a workgroup that share a point's reduction, along reduce_axis, and, without
  // tiles in group memory, vectors of the output that a workgroup computes so. Without
  // a vector_axis, each takes pieces of `reduce_block` neighbours and has `rows` points along
  // row_axis.
  int parts = 1, part_vectors = 1;
  int64_t chunk = 1;  // points of one work item at least (CPU maps)
  bool share =
      false;  // a work item computes all points of a run (access.h) from one reading (maps)
  bool rows_inside = false;  // tiles of rows are walked for one tile of columns after the other
  int row_tiles = 1;         // of one work item, where they share a cached factor; 1: all of them
  int cache = -1;  // the factor that a work item computes once for all of its tiles of rows, along
                   // row_axis; -1: none
  bool operator==(const Tiling&) const = default;
};

inline bool is_grouped(const Tiling& tiling) {
  return tiling.group_rows > 1 || tiling.group_vectors > 1;
}

// Whether the vectors of a map lie along an axis that they may not divide, or whose extent a run
// tells: the lanes past its end are skipped.
bool skips_lanes(const ops::Stage& stage, int axis, const Capabilities& caps);

// Vectors of a tile along `vector_axis` (-1: none) of a reduction none of whose operands rows would
// share: a product with one row, a sum of columns. Each step of a sum waits for the one before, so
// that several are under way; operands are packed in blocks of so many vectors.
int vectors_without_rows(const ops::Stage& stage, int vector_axis, const Capabilities& caps);

// Whether points of a map beside each other, along other axes than that of its vectors, read alike.
bool shares(const ops::Stage& stage, int vector_axis);

// By the accesses and the target's capabilities.
Tiling default_tiling(const ops::Stage& stage, const Capabilities& capabilities);

// The list of a stage's pattern, whose buffers have their layouts, with these numbers.
List list_of(const ops::Stage& stage, const Tiling& tiling);

}  // namespace gossamer::schedule
