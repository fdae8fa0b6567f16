// Pieces of a kernel that lower() puts together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/coordinates.h"
#include "schedule/nest.h"
#include "schedule/schedule.h"
#include "stages/stage.h"

namespace gossamer::schedule {

// check(), whose error says which stage's schedule.
Result<> can_lower(const Schedule& schedule);
// A stage as it is lowered: where memory does not forgive loads outside of buffers, they are held
// inside.
stages::Stage with_legal_loads(const stages::Stage& stage, const Schedule& schedule);

// The body inside of some loops of the nest, outermost first, and of what guards these loops. Where
// operands are staged, nothing does: all invocations come to the barriers (in_guards).
ir::Stmt in_nest(const Nest& nest, Coordinates& coordinates, const std::vector<LoopId>& loops,
                 ir::Stmt body);
// What a staged nest does for points that no guard leaves out; in another nest, the body.
ir::Stmt in_guards(const Nest& nest, Coordinates& coordinates, ir::Stmt body);

// The body in one invocation of the launch: what the bound loops say of the loops fused into them,
// and what guards these.
ir::Stmt at_invocation(const Nest& nest, Coordinates& coordinates, ir::Stmt body);
// All serial loops outside of the accumulators, in one invocation.
ir::Stmt in_serial_loops(const Nest& nest, Coordinates& coordinates, const ir::Stmt& body);
// The body in the launch of others: in each of its work items or workgroups, whose `invocation`
// takes the place of the loop over a workgroup's.
ir::Stmt inside_launch(const Nest& nest, const ir::Expr& invocation, const ir::Stmt& body);
// The bound loops around the body.
ir::Stmt in_launch(const Nest& nest, ir::Stmt body);

// A map of which each step of a reduction's whole vectors computes the elements that it reads.
struct ComputedAt {
  const stages::Stage* map;
  ir::Stmt
      rest;  // its elements behind the whole vectors, before the reduction reads them; null: none
};

// Where the result of a point goes, in terms of the nest's loops.
struct Destination {
  ir::Buffer memory = {};            // null: nowhere
  std::vector<ir::Expr> outer = {};  // indices in `memory` before those of the point
  ir::Buffer held = {};              // by the invocation, for other stages of the launch
  std::vector<ir::Expr> cell = {};   // in `held`
  std::optional<ComputedAt> computed = {};
  std::vector<ir::Expr> point = {};  // of the stage; in_invocation knows it
};
// The stores of a value; those to memory where `writes`, if that is not null.
ir::Stmt store_to(const Nest& nest, Coordinates& coordinates, const Destination& destination,
                  const ir::Expr& value, const ir::Expr& writes = {});

// What lies inside of the accumulators of a reduction or scan, and they: started, walked, written
// back, by a scan at each step.
ir::Stmt reduction(const stages::Stage& stage, const Nest& nest, const Destination& destination,
                   Coordinates& coordinates);

// A stage in one invocation of its launch.
ir::Stmt in_invocation(const stages::Stage& stage, const Nest& nest,
                       const Destination& destination);
// The same, on CPUs in several forms, of which a run takes one, where only it knows how many rows
// or lanes there are.
ir::Stmt in_forms(const stages::Stage& stage, const Schedule& schedule,
                  const Destination& destination);
// The whole launch of a scatter, which has no loops to schedule.
ir::Stmt scatter_launch(const stages::Stage& stage, const target::Capabilities& capabilities);

// The kernel with this body: simplified, with the dimensions that it depends on.
ir::Kernel kernel_of(std::string name, const ir::Stmt& body, std::span<const ir::Buffer> inputs,
                     std::span<const ir::Buffer> outputs);

}  // namespace gossamer::schedule
