#pragma once

#include <vector>

#include "ir/nodes.h"

namespace gossamer::passes {

// A kernel whose scalars are computed once, by the host.
struct HoistedScalars {
  ir::Kernel kernel;             // with scalars of its own, in the order of their first use
  std::vector<ir::Expr> values;  // of these, over the scalars of the kernel before
};

// Makes a scalar of each largest index expression that depends on scalars only and is not negative:
// (h + 3) floordiv 4 becomes s. Kernels for the same operator behind different strides are then one
// kernel. The extents of global buffers would tell such kernels apart: of their sizes only what a
// generator for shaders reads stays, whether they are whole vectors of four.
//
// For linear memory, after flatten_access.
HoistedScalars hoist_scalars(const ir::Kernel& kernel);

}  // namespace gossamer::passes
