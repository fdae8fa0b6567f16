// Stage forms that a target has no kernels for, as those that it has.
#pragma once

#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::schedule {

// After fusion and before layouts.
void legalize_stages(ops::Program& program, const Capabilities& capabilities);

}  // namespace gossamer::schedule
