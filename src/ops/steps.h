// Steps of the host program as stages, and what loops and branches are made of.
#pragma once

#include <string>
#include <vector>

#include "ops/stage.h"

namespace gossamer::ops {

// Variables of type index that hold the elements of a tensor of known element count.
Stage read_step(Buffer tensor, std::vector<Var> elements);
Stage check_step(Expr condition, std::string message);
Stage set_step(std::vector<Var> variables, std::vector<Expr> values);
Stage branch_step(Expr condition);
Stage otherwise_step();
// `condition`: null, or a variable that must not be 0, tested before each round.
Stage loop_step(Var counter, Expr rounds, Expr condition = {});
Stage end_step();
// Between devices: buffers of one type and shape.
Stage copy_step(Buffer from, Buffer to);

// What ends a round: states take their next values, all of which are read before any is set.
// `states` and `next` are of one length; a next value may be a state itself.
std::vector<Stage> advance_states(const std::vector<Buffer>& states,
                                  const std::vector<Buffer>& next);

// A stage that fills `to` with the elements of `from`, of the same type and shape.
Stage copy_stage(std::string name, const Buffer& from, const Buffer& to);

inline bool is_step(const Stage& stage, StepKind kind) {
  return stage.kind == StageKind::step && stage.step == kind;
}

// The update of round `round`: row `round` of `all`, along its first axis, becomes `row`. `all` is
// a state that was written before.
Stage row_stage(std::string name, const Buffer& all, const Expr& round, const Buffer& row);

// The variables that steps set, in order of appearance.
std::vector<Var> variables_of(const std::vector<Stage>& stages);

// For each stage the block it stands in: 0 outside of all branches and loops; both parts of a
// branch have their own. Steps that open or close a block count as outside of it.
std::vector<int> blocks_of(const std::vector<Stage>& stages);

}  // namespace gossamer::ops
