// Scatters where a kernel may only write its own points.
#pragma once

#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// The same values as a reduction: every point of the output looks through the scatter's whole
// domain for the updates that aim at it, and joins them in order. Costs output points times
// updates (their logarithm, where their places increase), so it is for GPUs, whose invocations
// cannot write where they like.
stages::Stage gather_form(const stages::Stage& scatter);

// Gives every scatter of a model that form, or, where many updates are known in number, that of
// a sort of the updates and a search for each point. One that updates a state in place makes the
// state's next value first; a row of one is written in place.
void gather_scatters(stages::Program& program, const target::Capabilities& capabilities);

}  // namespace gossamer::rewrite
