// Default lists of stages over the same rows, whose launches are one.
#pragma once

#include "schedule/capabilities.h"
#include "schedule/group.h"
#include "schedule/list.h"

namespace gossamer::schedule {

// How the rows of a group are shared out: the same for all its members.
struct RowTiling {
  int row_lanes = 1;     // rows of a vector, along the last row axis
  int column_lanes = 1;  // columns of a vector, along the last column axis
  int threads = 1;       // invocations of a workgroup that share a row
  int group_rows = 1;    // rows of a workgroup at a time
  int unroll = 1;        // iterations over columns in one straight piece (at most)
};

// By what lies along memory, and the target's capabilities.
RowTiling default_row_tiling(const Group& group, const Capabilities& capabilities);

// The list of a member. Its launch depends on the rows and the tiling alone.
List list_of(const Member& member, const Capabilities& capabilities, const RowTiling& tiling);

// Whether the rows give work to all that a launch has: long rows need many. And whether none has
// more rounds than an invocation may have (Capabilities::max_rounds).
bool enough_rows(const Group& group, const Capabilities& capabilities);

// Whether some operand lies in memory along the last of the columns, along the last row axis, or
// neither. What is mixed cannot be in one group.
enum class RowsAlong : uint8_t { neither, columns, rows, mixed };
RowsAlong rows_along(const Member& member, const Capabilities& capabilities);

}  // namespace gossamer::schedule
