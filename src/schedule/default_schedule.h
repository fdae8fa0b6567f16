// Default schedules: one per access pattern, never per operator.
#pragma once

#include "base/result.h"
#include "schedule/schedule.h"
#include "schedule/tiling.h"

namespace gossamer::schedule {

// The pattern's schedule of a stage, whose buffers have their layouts, at a point of its search
// space. An error where a primitive refuses the point.
Result<Schedule> schedule_with(const ops::Stage& stage, const Capabilities& capabilities,
                               const Tiling& tiling);

// At the default point, or, where a limit refuses tiles in group memory, at the one without them.
Schedule default_schedule(const ops::Stage& stage, const Capabilities& capabilities);

struct Scheduled {
  Schedule schedule;
  ir::Kernel kernel;
};
Scheduled schedule_default(const ops::Stage& stage, const Capabilities& capabilities);

}  // namespace gossamer::schedule
