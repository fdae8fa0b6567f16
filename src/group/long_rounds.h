// Launches for runs in which the loops of an invocation are longer than its driver allows.
#pragma once

#include <vector>

#include "group/group_stages.h"

namespace gossamer::group {

// Some drivers end the loops of an invocation early, without an error (Capabilities::max_rounds).
// split_reductions cuts loops of known length. Where only the run knows the length, this adds
// launches of the same stages, one by one and with long reductions in parts, and limits both to
// their runs by Group::rounds. Reductions that run in order cannot be cut and stay as they are.
void add_long_rounds(std::vector<Launched>& launched, const target::Capabilities& capabilities);

}  // namespace gossamer::group
