// Stages that write what several of them write: states of loops, results of branches.
#pragma once

#include <string>
#include <vector>

#include "stages/stage.h"

namespace gossamer::stages {

// What ends a round: states take their next values, all of which are read before any is set.
// `states` and `next` are of one length; a next value may be a state itself.
std::vector<Stage> advance_states(const std::vector<Buffer>& states,
                                  const std::vector<Buffer>& next);

// A stage that fills `to` with the elements of `from`, of the same type and shape.
Stage copy_stage(std::string name, const Buffer& from, const Buffer& to);

// The update of round `round`: row `round` of `all`, along its first axis, becomes `row`. `all` is
// a state that was written before.
Stage row_stage(std::string name, const Buffer& all, const Expr& round, const Buffer& row);

}  // namespace gossamer::stages
