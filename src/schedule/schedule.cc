#include "schedule/schedule.h"

#include <algorithm>

#include "ir/build.h"

namespace gossamer::schedule {
namespace {

using target::Capabilities;

// Ticks tell namesakes apart and are no part of a variable's name.
std::string without_ticks(std::string name) {
  while (!name.empty() && name.back() == '\'') name.pop_back();
  return name;
}

}  // namespace

Schedule::Schedule(stages::Stage stage, Capabilities capabilities, std::string pattern)
    : stage_(std::move(stage)),
      capabilities_(std::move(capabilities)),
      pattern_(std::move(pattern)) {
  Walk& walk = nest_.walks.emplace_back();
  if (stage_.kind == stages::StageKind::scatter) return;  // has a form of its own (lower.h)
  for (size_t i = 0; i < stage_.axes.size(); ++i) {
    nest_.axes.push_back(add(stage_.axes[i]->name, stage_.extents[i], false));
    walk.order.push_back(nest_.axes.back());
  }
  if (stage_.kind == stages::StageKind::scan) nest_.loop(nest_.axes[stage_.along]).carried = true;
  for (size_t r = 0; r < stage_.reduce_axes.size(); ++r) {
    walk.reduced.push_back(add(stage_.reduce_axes[r]->name, stage_.reduce_extents[r], true));
    walk.order.push_back(walk.reduced.back());
  }
}

int Schedule::group_size() const {
  if (order().size() < 2 || nest_.loop(order()[1]).kind != ir::LoopKind::group) return 1;
  return static_cast<int>(ir::as_int(nest_.loop(order()[1]).extent).value_or(1));
}

LoopId Schedule::add(std::string name, ir::Expr extent, bool reduction) {
  Loop loop;
  loop.name = fresh(std::move(name));
  loop.var = ir::var(without_ticks(loop.name));
  loop.extent = std::move(extent);
  loop.reduction = reduction;
  nest_.loops.push_back(std::move(loop));
  return static_cast<LoopId>(nest_.loops.size()) - 1;
}

std::string Schedule::fresh(std::string name) const {
  const auto taken = [&] {
    return std::ranges::any_of(nest_.loops, [&](const Loop& loop) {
      return loop.split < 0 && loop.fuse < 0 && loop.name == name;
    });
  };
  while (taken()) name += '\'';
  return name;
}

void Schedule::replace(const std::vector<LoopId>& old, const std::vector<LoopId>& fresh) {
  for (Walk& walk : nest_.walks) {
    const auto first = std::ranges::find(walk.order, old[0]);
    if (first == walk.order.end()) continue;
    const auto rest = walk.order.erase(first, first + static_cast<long>(old.size()));
    walk.order.insert(rest, fresh.begin(), fresh.end());
  }
  if (nest_.accumulators && std::ranges::find(old, *nest_.accumulators) != old.end()) {
    nest_.accumulators = fresh[0];
  }
}

Result<> Schedule::standing(LoopId loop) const {
  if (nest_.stands(loop)) return {};
  return fail(cat("loop ", nest_.loop(loop).name, " was split or fused before"));
}

Result<> Schedule::serial(LoopId loop) const {
  GS_TRY(standing(loop));
  const Loop& one = nest_.loop(loop);
  if (one.kind == ir::LoopKind::serial) return {};
  return fail(cat("loop ", one.name, " is ", ir::name_of(one.kind), " already"));
}

Result<> Schedule::unroll(std::vector<LoopId> loops) {
  for (LoopId loop : loops) {
    GS_TRY(serial(loop));
    if (!ir::as_int(nest_.loop(loop).extent))
      return fail(cat("cannot unroll ", nest_.loop(loop).name, ": its extent is not known"));
  }
  for (LoopId loop : loops) nest_.loop(loop).kind = ir::LoopKind::unrolled;
  steps_.push_back({Primitive::unroll, std::move(loops)});
  return {};
}

Result<> Schedule::vectorize(LoopId loop) {
  GS_TRY(serial(loop));
  Loop& one = nest_.loop(loop);
  const std::string what = cat("cannot vectorize ", one.name, ": ");
  if (!ir::as_int(one.extent)) return fail(what + "its extent is not known");
  if (one.reduction && !one.partial)
    return fail(what + "lanes of a reduction would write one accumulator", "rfactor it first");
  if (one.carried) return fail(what + "its iterations follow each other");
  for (LoopId other : order()) {
    if (nest_.loop(other).kind == ir::LoopKind::vectorized)
      return fail(cat(what, nest_.loop(other).name, " is vectorized already"));
  }
  one.kind = ir::LoopKind::vectorized;
  steps_.push_back({Primitive::vectorize, {loop}});
  return {};
}

Result<> Schedule::bind(LoopId loop, ir::LoopKind kind) {
  GS_TRY(serial(loop));
  const Loop& one = nest_.loop(loop);
  const std::string what = cat("cannot bind ", one.name, " to ", ir::name_of(kind), ": ");
  if (kind != ir::LoopKind::grid && kind != ir::LoopKind::group)
    return fail(what + "a loop is bound to grid or group");
  if (one.reduction && !(one.partial && kind == ir::LoopKind::group))
    return fail(what + "invocations cannot share the accumulators of a reduction",
                kind == ir::LoopKind::group ? "rfactor it first" : "");
  if (one.carried)
    return fail(what + "its iterations follow each other", "split it by the scan's segment");
  for (LoopId other : order()) {
    if (nest_.loop(other).kind == kind)
      return fail(cat(what, nest_.loop(other).name, " is, and a launch has one range"));
  }
  const auto extent = ir::as_int(one.extent);
  if (kind == ir::LoopKind::group && (!extent || *extent > capabilities_.max_group_size))
    return fail(cat(what, "a workgroup of ", name_of(capabilities_.kind), " has at most ",
                    capabilities_.max_group_size, " invocations"));
  nest_.loop(loop).kind = kind;
  steps_.push_back({Primitive::bind, {loop}, {}, Tail::exact, kind});
  return {};
}

Result<> Schedule::reorder(std::vector<LoopId> loops) {
  for (size_t i = 0; i < loops.size(); ++i) {
    GS_TRY(standing(loops[i]));
    const std::string& name = nest_.loop(loops[i]).name;
    if (std::ranges::find(order(), loops[i]) == order().end())
      return fail(cat("cannot reorder ", name, ": it belongs to a left-over walk"),
                  "reorder before peel");
    if (std::find(loops.begin(), loops.begin() + static_cast<long>(i), loops[i]) !=
        loops.begin() + static_cast<long>(i))
      return fail(cat("cannot reorder: ", name, " is given twice"));
  }
  if (nest_.walks.size() > 1) return fail("cannot reorder: a walk was peeled off in this order");
  size_t next = 0;
  for (LoopId& place : nest_.walks[0].order) {
    if (std::ranges::find(loops, place) != loops.end()) place = loops[next++];
  }
  steps_.push_back({Primitive::reorder, std::move(loops)});
  return {};
}

}  // namespace gossamer::schedule
