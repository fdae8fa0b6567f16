// What choices cost on a class of machines, in comparison with each other: the numbers by which
// layouts and tiles are chosen, apart from the code that chooses.
#pragma once

#include <span>

#include "target/capabilities.h"

namespace gossamer::target {

// A workgroup's tile of a contraction.
struct GroupTile {
  int rows, vectors;              // of an invocation's registers
  int group_rows, group_vectors;  // invocations along both
  int block;                      // iterations of the reduction at a time
  int unroll;
  bool ahead;          // the next tiles are read into registers while these are used
  int parts;           // invocations that share a register tile, each with every so-manieth block
  int64_t groups;      // so many of them at least must cover the output
  int64_t reduction;   // and so long must the reduction be at least
  bool along = false;  // only for columns that are stored along the reduction (stage_in.cc)
};

struct Costs {
  // Of a register tile, in multiplications of a vector (tiling.cc).
  double operand;  // a vector or a broadcast that a tile loads in a step of the reduction
  double tile;     // a step of a tile, whatever its size
  double join;     // the inner axis alone must cost so much more than two axes as one row
  double far = 0;  // more for a vector of an operand that a tile reads more than `near_bytes` of
  int64_t near_bytes = int64_t{1} << 62;  // that a cache keeps from one tile of rows to the next
  int64_t kept_bytes = int64_t{1} << 62;  // of the columns' operand, as `near_bytes`
  int64_t tiles = 0;  // that keep all processors busy: with fewer, tiles and workgroups are smaller

  // Of tiles without rows (tiling.cc).
  int sums;            // of vectors under way at a time: each step of one waits for that before
  int64_t least_sums;  // tiles that threads have at least to share

  // Of Winograd's algorithm, in multiply-adds (winograd.cc).
  double transform = 0;  // an element of a transform of the input or the products; 0: not built in
  double weight = 0;     // an element of the weights that a run reads
  double another = 1;    // of the direct sum's cost, that another algorithm may have at most
  double launch = 0;     // a launch; 0: less than what else is counted

  // Points of an axis of a stage as its vector axis (layout.cc); the most win.
  int contiguous;  // a load of a whole vector
  int still;       // a term that all lanes share
  int packable;    // a gather from a constant, which a copy at load puts in order
  int gather;      // a load of each lane by itself
  int short_axis;  // fewer points than lanes
  int unit_axis;   // a single point
  int scale;       // of all of the above, to leave room for what decides between equals:
  int shared;      // a packed constant that moves along the axis

  // Copies of operands in the order in which they are walked (packing.cc).
  int64_t small_constant;  // so many elements are read in any order
  int64_t reuse;           // vectors' worth of the output that pay for a copy in each run
  int64_t far_elements;    // of an operand in order, that are copied where they have
  int64_t far_rows;        // so many rows to multiply
  int64_t copied;          // steps of a reduction that cost what a copy of its output does

  // Tiles in group memory (workgroup_lists.cc): the first that fits is taken. None: never.
  std::span<const GroupTile> group_tiles = {};
  int64_t least_group_rows = 0;       // with fewer rows, most of a tile lies past the edge
  int64_t least_group_reduction = 0;  // in shorter ones a tile is read too seldom to pay

  // Reductions that invocations share (workgroup_lists.cc).
  int64_t busy = 0;        // vectors of the output that keep all processors busy without; 0: any
  int64_t part_steps = 8;  // steps of the reduction at least for each of them
  int64_t parts = 32;      // at most
  int part_vectors = 8;    // of the output in a workgroup: what is read at a time

  // Rows of a group of stages (row_schedule.cc).
  int64_t short_row = 4096;  // rows of more columns need
  int64_t long_rows = 64;    // so many of them at least
  uint64_t row_vectors = 8;  // vectors of a row at least that invocations share
  int row_threads = 1;       // invocations that share a row at most
  int least_group = 64;      // invocations of a workgroup, where rows are few
  int64_t groups = 0;        // workgroups that keep all processors busy
  // Steps of an invocation along a row that take as long as a launch; of more, there must be `busy`
  // invocations. 0: any.
  int64_t row_steps = 0;
};

const Costs& costs_of(const Capabilities& capabilities);

}  // namespace gossamer::target
