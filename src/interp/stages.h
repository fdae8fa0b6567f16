// Runs stages point by point: what every target's kernels are compared with.
#pragma once

#include <span>

#include "interp/expr_eval.h"
#include "ops/stage.h"

namespace gossamer::interp {

// Runs stages and the steps between them. `values` holds inputs and constants, and gets every
// output; `variables` the dimensions. Errors: a stage of kind program (it has no points), an absurd
// size.
Result<> run_stages(std::span<const ops::Stage> stages, Values& values, Variables variables = {});

}  // namespace gossamer::interp
