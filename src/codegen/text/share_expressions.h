// Common subexpressions and loop invariants become Lets, as the compilers behind shading languages
// are simple.
#pragma once

#include "ir/nodes.h"

namespace gossamer::codegen::text {

// `body` is one invocation's program: no grid, group or vectorized loops. Afterwards
// - what is computed twice on a path, or again in every iteration of a loop, is bound where its
// variables are known
//   (but floating point is not moved out of a branch), sums of index terms being reordered from
//   outer to inner loops,
// - Lets that nobody uses are gone; a Let whose value loads from memory stays where it was or
// before.
ir::Stmt share_expressions(const ir::Stmt& body);

}  // namespace gossamer::codegen::text
