#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// Replaces every vectorized loop by vector expressions: its variable becomes a Ramp, what depends
// on it widens, the rest stays scalar and is broadcast where it meets a vector. Establishes
// no_vector_loops.
ir::Stmt vectorize_loops(const ir::Stmt& body);

// One lane of a vector expression as a scalar expression, without a Lane node where the lanes are
// known.
ir::Expr lane_of(const ir::Expr& vector, int lane);

}  // namespace gossamer::passes
