#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// Replaces every unrolled loop by copies of its body. Establishes no_unrolled_loops.
ir::Stmt unroll_loops(const ir::Stmt& body);

}  // namespace gossamer::passes
