// Halves that products read again and again, as floats.
#pragma once

#include <unordered_set>

#include "ops/program.h"
#include "schedule/capabilities.h"

namespace gossamer::schedule {

// Machines with registers of floats compute halves as floats. Where many points of a sum of
// products read each element of a tensor of halves that a stage of the program makes, a stage of
// its own converts it once. `kept`: buffers that other than the one stage writes, such as states.
void widen_halves(ops::Program& program, const std::unordered_set<const ir::BufferNode*>& kept,
                  const Capabilities& capabilities);

}  // namespace gossamer::schedule
