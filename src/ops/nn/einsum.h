// Sums of products over named axes.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// The definition of Einsum: one sum of a product of loads (a compute stage where no axis is summed
// over).
Result<> einsum(Builder& b);

}  // namespace gossamer::ops
