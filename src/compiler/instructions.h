// How many instructions a launch executes, as loops and nodes tell: what open dimensions cost.
#pragma once

#include <span>

#include "ir/nodes.h"

namespace gossamer::compiler {

// Of a kernel after the passes, for these values of its scalars and this range of its launch. A
// node counts one for all of its lanes, a division of indices and a function several, other
// arithmetic of indices none. What a loop does not change is computed before it; loops are in the
// middle of their way where a condition asks.
double instructions_of(const ir::Kernel& kernel, std::span<const int64_t> scalars, int64_t range);

}  // namespace gossamer::compiler
