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
  LoopId carried;     // a scan's loop that it is about; -1: none
  bool mask = false;  // it stands around stores alone
};

std::vector<Guard> all_guards_of(const Nest& nest, Coordinates& coordinates) {
  std::vector<Guard> guards;
  for (const Split& split : nest.splits) {
    if ((split.tail != Tail::guard && split.tail != Tail::mask) || nest.loop(split.whole).reduction)
      continue;
    Guard guard{deepest_of(nest, split),
                coordinates.of(split.whole) < nest.loop(split.whole).extent, -1,
                split.tail == Tail::mask || nest.waits()};
    for (LoopId leaf : nest.leaves(split.whole)) {
      if (nest.loop(leaf).carried) guard.carried = leaf;
    }
    guards.push_back(std::move(guard));
  }
  return guards;
}

// Those that stand around loops: where invocations wait, they stand around stores alone.
std::vector<Guard> guards_of(const Nest& nest, Coordinates& coordinates) {
  std::vector<Guard> guards = all_guards_of(nest, coordinates);
  std::erase_if(guards, [](const Guard& guard) { return guard.mask; });
  return guards;
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
  for (const Guard& guard : all_guards_of(nest, coordinates)) {
    if (guard.mask) body = ir::branch(guard.inside, body);
  }
  return body;
}

ir::Stmt at_invocation(const Nest& nest, Coordinates& coordinates, ir::Stmt body) {
  const auto& lets = coordinates.launch();
  std::vector<Guard> guards = guards_of(nest, coordinates);
  std::erase_if(guards,
                [&](const Guard& guard) { return !is_bound(nest.loop(guard.deepest).kind); });
  for (const Guard& guard : guards) {
    if (uses_any(guard.inside, lets)) body = ir::branch(guard.inside, body);
  }
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    body = ir::let(let->first, let->second, body);
  for (const Guard& guard : guards) {
    if (!uses_any(guard.inside, lets)) body = ir::branch(guard.inside, body);
  }
  return body;
}

ir::Stmt inside_launch(const Nest& nest, const ir::Expr& invocation, const ir::Stmt& body) {
  ir::VarMap map;
  for (const LoopId id : nest.walks[0].order) {
    const Loop& loop = nest.loop(id);
    if (loop.kind == ir::LoopKind::grid) map[loop.var.get()] = ir::index(0);
    if (loop.kind == ir::LoopKind::group) map[loop.var.get()] = invocation;
  }
  return ir::substitute(body, map);
}

ir::Stmt in_launch(const Nest& nest, ir::Stmt body) {
  const std::vector<LoopId>& order = nest.walks[0].order;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (is_bound(nest.loop(*id).kind)) body = in_loop(nest.loop(*id), body);
  }
  return body;
}

ir::Stmt store_to(const Nest& nest, Coordinates& coordinates, const Destination& destination,
                  const ir::Expr& value, const ir::Expr& writes) {
  const auto stores = [&](const ir::Expr& result) {
    std::vector<ir::Stmt> steps;
    if (destination.held) steps.push_back(ir::store(destination.held, destination.cell, result));
    if (destination.memory) {
      std::vector<ir::Expr> point = destination.outer;
      point.insert(point.end(), destination.point.begin(), destination.point.end());
      ir::Stmt store = ir::store(destination.memory, std::move(point), result);
      if (writes) store = ir::branch(writes, store);
      steps.push_back(in_guards(nest, coordinates, store));
    }
    return steps.size() == 1 ? steps[0] : ir::block(std::move(steps));
  };
  // What is computed and not stored may be part of what is.
  const bool masks =
      std::ranges::any_of(nest.splits, [](const Split& split) { return split.tail == Tail::mask; });
  if (!masks && (!destination.held || !destination.memory)) return stores(value);
  const ir::Var result = ir::var("result", value->type);
  return ir::let(result, value, stores(result));
}

}  // namespace gossamer::schedule
