#include "schedule/lower_loops.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::schedule {
namespace {

// The innermost of the loops that decide whether a point of a guarded split counts.
LoopId deepest_of(const Nest& nest, const Split& split) {
  const std::vector<LoopId> leaves = nest.leaves(split.whole);
  LoopId deepest = -1;
  for (LoopId id : nest.walks[0].order) {
    if (std::ranges::find(leaves, id) != leaves.end()) deepest = id;
  }
  return deepest;
}

// A condition that points of some loop have to meet.
struct Guard {
  LoopId deepest;
  ir::Expr inside;
  LoopId carried;  // a scan's loop that it is about; -1: none
};

std::vector<Guard> all_guards_of(const Nest& nest, Coordinates& coordinates) {
  std::vector<Guard> guards;
  for (const Split& split : nest.splits) {
    if (split.tail != Tail::guard || nest.loop(split.whole).reduction) continue;
    Guard guard{deepest_of(nest, split),
                coordinates.of(split.whole) < nest.loop(split.whole).extent, -1};
    for (LoopId leaf : nest.leaves(split.whole)) {
      if (nest.loop(leaf).carried) guard.carried = leaf;
    }
    guards.push_back(std::move(guard));
  }
  return guards;
}

// Those that stand around loops: in a staged nest they stand around stores alone.
std::vector<Guard> guards_of(const Nest& nest, Coordinates& coordinates) {
  return nest.staged.empty() ? all_guards_of(nest, coordinates) : std::vector<Guard>{};
}

bool uses_any(const ir::Expr& expr, const std::vector<std::pair<ir::Var, ir::Expr>>& lets) {
  return std::ranges::any_of(lets,
                             [&](const auto& let) { return ir::uses(expr, let.first.get()); });
}

ir::Stmt in_loop(const Loop& loop, const ir::Stmt& body) {
  if (ir::is_const(loop.extent, 1) && !is_bound(loop.kind))
    return ir::substitute(body, {{loop.var.get(), ir::index(0)}});
  return ir::loop(loop.var, loop.extent, loop.kind, body);
}

}  // namespace

ir::Stmt in_nest(const Nest& nest, Coordinates& coordinates, const std::vector<LoopId>& loops,
                 ir::Stmt body) {
  std::vector<Guard> guards = guards_of(nest, coordinates);
  // Where the walk has not begun, its points are not asked about.
  std::erase_if(guards, [&](const Guard& guard) {
    return guard.carried >= 0 && std::ranges::find(loops, guard.carried) == loops.end();
  });
  for (auto id = loops.rbegin(); id != loops.rend(); ++id) {
    for (const Guard& guard : guards) {
      if (guard.deepest == *id) body = ir::branch(guard.inside, body);
    }
    body = in_loop(nest.loop(*id), body);
  }
  return body;
}

ir::Stmt in_guards(const Nest& nest, Coordinates& coordinates, ir::Stmt body) {
  if (nest.staged.empty()) return body;
  for (const Guard& guard : all_guards_of(nest, coordinates)) body = ir::branch(guard.inside, body);
  return body;
}

ir::Stmt in_launch(const Nest& nest, Coordinates& coordinates, const std::vector<LoopId>& loops,
                   ir::Stmt body) {
  const auto& lets = coordinates.launch();
  std::vector<Guard> guards = guards_of(nest, coordinates);
  std::erase_if(guards, [&](const Guard& guard) {
    return std::ranges::find(loops, guard.deepest) == loops.end();
  });
  for (const Guard& guard : guards) {
    if (uses_any(guard.inside, lets)) body = ir::branch(guard.inside, body);
  }
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    body = ir::let(let->first, let->second, body);
  for (auto id = loops.rbegin(); id != loops.rend(); ++id) {
    for (const Guard& guard : guards) {
      if (guard.deepest == *id && !uses_any(guard.inside, lets))
        body = ir::branch(guard.inside, body);
    }
    body = in_loop(nest.loop(*id), body);
  }
  return body;
}

}  // namespace gossamer::schedule
