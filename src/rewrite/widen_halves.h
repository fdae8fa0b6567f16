// Halves that products read again and again, as floats.
#pragma once

#include <unordered_set>

#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// Buffers that other than a program's stages read or write.
struct HeldBuffers {
  std::unordered_set<const ir::BufferNode*> states, outputs, constants;
};

// Machines with registers of floats compute halves as floats. Where many points of a sum of
// products read each element of a tensor of halves, it is converted once: the stage that makes the
// tensor stores what it rounds to halves as floats, or, where others read the tensor too, a stage
// of its own converts it. With `floats_for_halves` all stages store floats, and constants that many
// points read are converted at load.
void widen_halves(stages::Program& program, const HeldBuffers& held,
                  const target::Capabilities& capabilities);

}  // namespace gossamer::rewrite
