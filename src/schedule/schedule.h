// Schedules: from a stage to a kernel. schedule.cc has the primitives, one default schedule stands per access pattern.
#pragma once

#include "schedule/capabilities.h"
#include "ir/nodes.h"
#include "ops/stage.h"

namespace gossamer::schedule {

struct Scheduled {
  ir::Kernel kernel;
  std::string description;  // the schedule as text: pattern, tiles, order; shown by `inspect` and dumps
};

// The default schedule of a stage whose buffers have their layouts, for a target's capabilities.
Scheduled schedule_default(const ops::Stage& stage, const Capabilities& capabilities);

}  // namespace gossamer::schedule
