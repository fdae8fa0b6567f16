// Default lists of members over the same rows, whose launches are one.
#pragma once

#include "schedule/list.h"
#include "stages/group.h"
#include "target/capabilities.h"

namespace gossamer::autoschedule {

// One list a member, by what lies along memory, and the target's capabilities.
schedule::Point row_lists(const stages::Group& group, const target::Capabilities& capabilities);

// Whether the rows give work to all that a launch has: long rows need many. And whether none has
// more rounds than an invocation may have (Capabilities::max_rounds).
bool enough_rows(const stages::Group& group, const target::Capabilities& capabilities);

// Whether operands lie in memory along the last of the columns, along the last row axis, or
// neither. What is mixed cannot be in one group.
enum class RowsAlong : uint8_t { neither, columns, rows, mixed };
RowsAlong rows_along(const stages::Group& group, const target::Capabilities& capabilities);

// Lanes of a group's vectors: along the last row axis, or along the last of the columns.
struct RowLanes {
  int rows = 1, columns = 1;
};
RowLanes row_lanes(const stages::Group& group, const target::Capabilities& capabilities);

}  // namespace gossamer::autoschedule
