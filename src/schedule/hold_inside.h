// Memory that does not forgive accesses outside of its buffers.
#pragma once

#include "schedule/nest.h"
#include "stages/stage.h"

namespace gossamer::schedule {

// The stage with its loads held inside their buffers: those that lanes past an axis' extent would
// gather (consecutive ones stay within the slack of every buffer), and those whose place is data.
stages::Stage hold_inside(const stages::Stage& stage, const Nest& nest);

}  // namespace gossamer::schedule
