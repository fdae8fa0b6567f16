// From a schedule to a kernel.
#pragma once

#include <span>

#include "base/result.h"
#include "ir/nodes.h"
#include "schedule/schedule.h"
#include "stages/group.h"

namespace gossamer::schedule {

// The loops of the schedule as loop IR, simplified. An error where it is no kernel yet: check().
//
// A scatter has no loops to schedule, since its updates happen in order: one work item copies the
// output's first value and then walks the updates. GPUs run its gather form (scatter.h) instead.
Result<ir::Kernel> lower(const Schedule& schedule);

// Stages under one launch, see group.h. Each member with loops of its own has a schedule, and their
// launches are one: the loops bound to the grid and to the group have the same extents. Concurrent
// groups have workgroups of one size.
Result<ir::Kernel> lower(const stages::Group& group, std::span<const Schedule> schedules);

}  // namespace gossamer::schedule
