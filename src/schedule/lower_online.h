// Kernels of walks over keys (online/online.h).
#pragma once

#include <span>

#include "base/result.h"
#include "online/online.h"
#include "schedule/schedule.h"

namespace gossamer::schedule {

Result<ir::Kernel> lower_online(const stages::Group& group, std::span<const Schedule> schedules);
// The same on CPUs.
Result<ir::Kernel> lower_online_vectors(const stages::Group& group,
                                        std::span<const Schedule> schedules);

}  // namespace gossamer::schedule
