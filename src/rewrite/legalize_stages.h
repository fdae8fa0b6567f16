// Stage forms that a target has no kernels for, as those that it has.
#pragma once

#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// After fusion and before layouts.
void legalize_stages(stages::Program& program, const target::Capabilities& capabilities);

}  // namespace gossamer::rewrite
