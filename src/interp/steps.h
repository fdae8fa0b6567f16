// Walks a program: stages, and the steps of the host program between them.
#pragma once

#include <functional>
#include <span>

#include "interp/expr_eval.h"
#include "stages/program.h"

namespace gossamer::interp {

struct StepRunner {
  Variables variables;  // dimensions before, all variables after
  std::function<Result<>(const stages::Stage&)> run;
  // An element of a tensor that stages have written, in row-major order.
  std::function<ir::Scalar(const ir::BufferNode*, int64_t)> element;
};

// Errors: a check that fails, what `run` returns.
Result<> run_steps(std::span<const stages::Entry> program, StepRunner& runner);

}  // namespace gossamer::interp
