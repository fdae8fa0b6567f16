// Default points, and kernels of groups at any point.
#pragma once

#include "base/result.h"
#include "schedule/list.h"
#include "schedule/schedule.h"
#include "stages/group.h"

namespace gossamer::autoschedule {

// What the compiler chooses where nothing is recorded.
schedule::Point default_point(const stages::Group& group, const target::Capabilities& capabilities);

// One schedule for stages with the same points, one a stage for those over the same rows.
struct ScheduledGroup {
  std::vector<schedule::Schedule> schedules;
  ir::Kernel kernel;

  int group_size() const { return schedules.back().group_size(); }
};
// The group's kernel at a point; an error where a primitive or a limit refuses it.
Result<ScheduledGroup> schedule_at(const stages::Group& group,
                                   const target::Capabilities& capabilities,
                                   const schedule::Point& point);
// At the default point, or, where a limit refuses tiles in group memory, at the one without them.
ScheduledGroup schedule_default(const stages::Group& group,
                                const target::Capabilities& capabilities);

// The schedule of a stage that is a launch by itself.
schedule::Schedule default_schedule(const stages::Stage& stage,
                                    const target::Capabilities& capabilities);

// Whether machines with these other capabilities compute the group in another way.
bool has_variant(const stages::Group& group, const target::Capabilities& capabilities,
                 const target::Capabilities& others);

}  // namespace gossamer::autoschedule
