// Scatters where a kernel may only write its own points.
#pragma once

#include "ops/program.h"
#include "schedule/capabilities.h"

namespace gossamer::schedule {

// The same values as a reduction: every point of the output looks through the scatter's whole
// domain for the updates that aim at it, and joins them in order. Costs output points times
// updates (their logarithm, where their places increase), so it is for GPUs, whose invocations
// cannot write where they like.
ops::Stage gather_form(const ops::Stage& scatter);

// Gives every scatter of a model that form, or, where many updates are known in number, that of
// a sort of the updates and a search for each point. One that updates a state in place makes the
// state's next value first; a row of one is written in place.
void gather_scatters(ops::Program& program, const Capabilities& capabilities);

// Whether each update has a place of its own in a state, so that they may be written in any order:
// each axis is an index of the target, or that and a number, the others are the same for all (a row
// of a loop's output, the new rows of a state).
bool writes_a_row(const ops::Stage& scatter);

}  // namespace gossamer::schedule
