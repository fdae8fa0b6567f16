// Default points, and kernels of groups at any point.
#pragma once

#include "base/result.h"
#include "schedule/list.h"
#include "schedule/schedule.h"
#include "stages/group.h"

namespace gossamer::schedule {

// What the compiler chooses where nothing is recorded.
Point default_point(const Group& group, const Capabilities& capabilities);

// One schedule for stages with the same points, one a stage for those over the same rows.
struct ScheduledGroup {
  std::vector<Schedule> schedules;
  ir::Kernel kernel;

  int group_size() const { return schedules.back().group_size(); }
};
// The group's kernel at a point; an error where a primitive or a limit refuses it.
Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const Point& point);
// At the default point, or, where a limit refuses tiles in group memory, at the one without them.
ScheduledGroup schedule_default(const Group& group, const Capabilities& capabilities);

// Of a stage in a launch of its own.
Schedule default_schedule(const ops::Stage& stage, const Capabilities& capabilities);

// Whether machines with these other capabilities compute the group in another way.
bool has_variant(const Group& group, const Capabilities& capabilities, const Capabilities& others);

}  // namespace gossamer::schedule
