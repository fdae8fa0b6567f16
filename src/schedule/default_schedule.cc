#include "schedule/default_schedule.h"

#include <algorithm>

#include "ir/build.h"
#include "schedule/default_points.h"
#include "schedule/lower.h"

namespace gossamer::schedule {
namespace {

// On CPUs a map's innermost axes stay loops inside the work item, so that one holds `chunk` points.
void keep_chunk(const Schedule& s, Loops& grid, const Tiling& t) {
  int64_t points = t.lanes;
  for (bool kept = false; !grid.empty() && points < t.chunk; kept = true) {
    points *= ir::as_int(s.nest().loop(grid.back()).extent).value_or(64);
    if (points > 64 * t.chunk && kept) break;
    grid.pop_back();
  }
}

Result<> map(Schedule& s, const Tiling& t) {
  GS_ASSIGN(Points points, place_points(s, t));
  Loops order = points.grid;
  order.insert(order.end(), points.tile.begin(), points.tile.end());
  if (points.lane) order.push_back(*points.lane);
  GS_TRY(arrange(s, order));
  keep_chunk(s, points.grid, t);
  return bind_points(s, points, t);
}

// The innermost loops of a walk in straight pieces of at most `most` iterations; a longer innermost
// loop is cut where `most` divides it.
Result<> unroll_innermost(Schedule& s, const Loops& walk, int most) {
  int64_t straight = 1;
  Loops unrolled;
  for (size_t i = walk.size(); i-- > 0;) {
    const auto extent = ir::as_int(s.nest().loop(walk[i]).extent);
    if (!extent || straight * *extent > most) {
      if (!extent || straight > 1 || most <= 1 || *extent % most != 0) break;
      GS_ASSIGN(const Loops parts, s.split(walk[i], {most}));
      unrolled.push_back(parts[1]);
      break;
    }
    straight *= *extent;
    unrolled.push_back(walk[i]);
  }
  return unroll(s, std::move(unrolled));
}

// Tiles of the output outside, walks over the reduction in them, a register tile innermost. The
// axis that an operand is blocked along is walked block by block, its elements innermost.
Result<> reduction(Schedule& s, const Tiling& t) {
  GS_ASSIGN(Points points, place_points(s, t));
  Loops walk, order = points.grid;
  for (size_t r = 0; r < s.stage().reduce_axes.size(); ++r) walk.push_back(s.reduce_axis(r));
  if (t.reduce_axis >= 0) {
    LoopId& axis = walk[static_cast<size_t>(t.reduce_axis)];
    const std::string name = s.nest().loop(axis).var->name;
    GS_ASSIGN(const Loops parts, s.split(axis, {t.reduce_block}, Tail::guard,
                                         {name + ".block", t.partial ? "lane" : name}));
    axis = parts[0];
    if (t.partial && points.lane) return fail("partial results need lanes that no axis lies along");
    if (t.partial) {
      GS_TRY(s.rfactor(parts[1]));
      points.lane = parts[1];
    } else {
      walk.push_back(parts[1]);
    }
  }
  order.insert(order.end(), walk.begin(), walk.end());
  order.insert(order.end(), points.tile.begin(), points.tile.end());
  if (points.lane) order.push_back(*points.lane);
  GS_TRY(arrange(s, order));
  const auto first = order.begin() + static_cast<long>(points.grid.size());
  GS_TRY(s.accumulate(first == order.end() ? std::nullopt : std::optional(*first)));
  if (t.reduce_axis >= 0) {
    const auto axis = static_cast<size_t>(t.reduce_axis);
    const auto extent = ir::as_int(s.stage().reduce_extents[axis]);
    if (!extent || *extent % t.reduce_block != 0) {
      GS_ASSIGN(const Loops left_over, s.peel(walk[axis]));
      GS_TRY(unroll_innermost(s, left_over, t.unroll));
    }
  }
  GS_TRY(unroll_innermost(s, walk, t.unroll));
  return bind_points(s, points, t);
}

}  // namespace

Result<Schedule> schedule_with(const ops::Stage& stage, const Capabilities& capabilities,
                               const Tiling& tiling) {
  Schedule s(stage, capabilities, std::string(name_of(tiling.pattern)));
  switch (tiling.pattern) {
    case Pattern::scatter:
      break;  // in order: lower.h
    case Pattern::map:
      GS_TRY(map(s, tiling));
      break;
    case Pattern::reduce:
    case Pattern::window:
    case Pattern::contraction:
      GS_TRY(reduction(s, tiling));
      break;
  }
  return s;
}

Schedule default_schedule(const ops::Stage& stage, const Capabilities& capabilities) {
  auto schedule = schedule_with(stage, capabilities, default_tiling(stage, capabilities));
  GS_CHECK(schedule, stage.name, ": ", schedule.error().to_string());
  return *std::move(schedule);
}

Scheduled schedule_default(const ops::Stage& stage, const Capabilities& capabilities) {
  Schedule schedule = default_schedule(stage, capabilities);
  auto kernel = lower(schedule);
  GS_CHECK(kernel, stage.name, ": ", kernel.error().to_string());
  return {std::move(schedule), *std::move(kernel)};
}

}  // namespace gossamer::schedule
