// Default schedules: one per access pattern, never per operator.
#pragma once

#include "base/result.h"
#include "schedule/group.h"
#include "schedule/row_schedule.h"
#include "schedule/schedule.h"
#include "schedule/tiling.h"

namespace gossamer::schedule {

// The pattern's schedule of a stage, whose buffers have their layouts, at a point of its search
// space. An error where a primitive refuses the point.
Result<Schedule> schedule_with(const ops::Stage& stage, const Capabilities& capabilities,
                               const Tiling& tiling);

// One schedule for stages with the same points, one a stage for those over the same rows.
struct ScheduledGroup {
  std::vector<Schedule> schedules;
  ir::Kernel kernel;

  int group_size() const { return schedules.back().group_size(); }
};
// At the default point, or, where a limit refuses tiles in group memory, at the one without them.
ScheduledGroup schedule_default(const Group& group, const Capabilities& capabilities);
// At a point of the space of its last stage, or, where the group is over rows, of the rows.
Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const Tiling& tiling);
Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const RowTiling& tiling);

// Of a stage in a launch of its own.
Schedule default_schedule(const ops::Stage& stage, const Capabilities& capabilities);

// Whether machines with these other capabilities compute the group in another way.
bool has_variant(const Group& group, const Capabilities& capabilities, const Capabilities& others);

}  // namespace gossamer::schedule
