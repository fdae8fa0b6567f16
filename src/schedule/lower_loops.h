// Pieces of a kernel that lower() puts together.
#pragma once

#include <vector>

#include "ops/stage.h"
#include "schedule/coordinates.h"
#include "schedule/nest.h"

namespace gossamer::schedule {

// The body inside of some loops of the nest, outermost first, and of what guards these loops. Where
// operands are staged, nothing does: all invocations come to the barriers (in_guards).
ir::Stmt in_nest(const Nest& nest, Coordinates& coordinates, const std::vector<LoopId>& loops,
                 ir::Stmt body);
// What a staged nest does for points that no guard leaves out; in another nest, the body.
ir::Stmt in_guards(const Nest& nest, Coordinates& coordinates, ir::Stmt body);

// The body inside of the launch: the bound loops, what they say of the loops fused into them, and
// what guards either.
ir::Stmt in_launch(const Nest& nest, Coordinates& coordinates, const std::vector<LoopId>& loops,
                   ir::Stmt body);

// What lies inside of the accumulators of a reduction or scan, and they: started, walked, written
// back to `point`, by a scan at each step.
ir::Stmt reduction(const ops::Stage& stage, const Nest& nest, const std::vector<ir::Expr>& point,
                   Coordinates& coordinates);

}  // namespace gossamer::schedule
