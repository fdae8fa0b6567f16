// Loads that a stage makes at every point: they must lie inside their tensors.
#pragma once

#include <functional>
#include <string>

#include "stages/stage.h"

namespace gossamer::ops {

using ir::Expr;

// Asks `fits` for each load outside the arms of selects (an arm may be there to avoid its load)
// that is not plainly inside: as many elements are read as `read` says, there are `extent`. Only
// places that are an axis of the stage, or a sum of such, are looked at: what data decides is the
// data's business.
using FitsFn = std::function<void(const Expr& read, const Expr& extent, std::string message)>;
void check_reads(const stages::Stage& stage, const FitsFn& fits);

}  // namespace gossamer::ops
