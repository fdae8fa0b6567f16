// Schedules: from a stage to a kernel. One default schedule stands per access pattern, never per
// operator.
#pragma once

#include <string>

#include "ir/nodes.h"
#include "ops/stage.h"
#include "schedule/capabilities.h"

namespace gossamer::schedule {

// The knobs of a stage's schedule: a legal point of its search space.
struct Tiling {
  std::string pattern;   // "map", "reduce", "window", "contraction"
  int vector_axis = -1;  // axis of the stage that lies along vectors; -1: scalar
  int lanes = 1;         // elements of a vector
  int vectors = 1;       // vectors of a register tile along vector_axis
  int row_axis = -1;     // axis of the stage that the rows of a register tile run along; -1: none
  int joined_axis = -1;  // the axis before row_axis where both are walked as one; -1: none
  int rows = 1;          // rows of a register tile
  int reduce_split =
      -1;  // reduction axis walked in blocks of `lanes`, because an operand lies so; -1: none
  int reduce_lanes =
      1;  // partial results along reduce_split, where no axis of the stage lies along vectors
  int unroll = 1;      // iterations of the reduction in one straight piece (at most)
  int group_size = 1;  // invocations of a workgroup
  int64_t chunk = 1;   // points of one work item at least (CPU maps)
};
std::string to_string(const Tiling& tiling);

struct Scheduled {
  ir::Kernel kernel;
  Tiling tiling;
};

// The default point of the search space: by the accesses and the target's capabilities.
Tiling default_tiling(const ops::Stage& stage, const Capabilities& capabilities);

// Lowers a compute or reduce stage, whose buffers have their layouts, to a kernel.
ir::Kernel lower(const ops::Stage& stage, const Tiling& tiling, const Capabilities& capabilities);

Scheduled schedule_default(const ops::Stage& stage, const Capabilities& capabilities);

}  // namespace gossamer::schedule
