// How many instructions a launch executes, as loops and nodes tell: what open dimensions cost.
#pragma once

#include <span>

#include "ir/nodes.h"

namespace gossamer::compiler {

// Estimates the instructions that one launch of a kernel executes. The kernel has been through the
// passes; `scalars` are the values of its scalars, `range` is that of its launch. A node counts
// once for all of its lanes, divisions of indices and functions several times, and other arithmetic
// of indices not at all. Loop invariants are counted outside the loop. Conditions are evaluated at
// the middle of each loop.
double instructions_of(const ir::Kernel& kernel, std::span<const int64_t> scalars, int64_t range);

}  // namespace gossamer::compiler
