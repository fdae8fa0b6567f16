// Searches better points for the kernels of a model on a device. Each batch measures the model
// with one new point for many of its kernels beside the model as it is best so far, in turns, so
// that drift of the machine meets both.
#pragma once

#include <span>

#include "base/result.h"
#include "tune/measurer.h"
#include "tune/planner.h"

namespace gossamer::tune {

// Errors: what the model as it is does wrong. What candidates do wrong is a trial's failure. All
// three must outlive it. Waits where the measurer does.
Task<Result<Outcome>> tune(std::span<const std::byte> model, Measurer& measurer,
                           const Options& options);

}  // namespace gossamer::tune
