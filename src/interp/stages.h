// Runs stages point by point: what every target's kernels are compared with.
#pragma once

#include <span>

#include "interp/expr_eval.h"
#include "stages/program.h"

namespace gossamer::interp {

// Runs stages and the steps between them. `values` holds inputs and constants, and gets every
// output; `variables` the dimensions. Errors: an absurd size, a check that fails.
Result<> run_program(std::span<const stages::Entry> program, Values& values,
                     Variables variables = {});
Result<> run_stage(const stages::Stage& stage, Values& values, Variables variables = {});

}  // namespace gossamer::interp
