#include "schedule/default_schedule.h"

#include <algorithm>

#include "ir/build.h"
#include "schedule/default_points.h"
#include "schedule/lower.h"
#include "schedule/row_schedule.h"

namespace gossamer::schedule {
namespace {

// On CPUs a map's innermost axes stay loops inside the work item, so that one holds `chunk` points.
void keep_chunk(const Schedule& s, Loops& grid, const Loops& tile, const Tiling& t) {
  int64_t points = t.lanes;
  for (const LoopId id : tile) points *= ir::as_int(s.nest().loop(id).extent).value_or(1);
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
  keep_chunk(s, points.grid, points.tile, t);
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

// 2^20 where a run tells.
int64_t count_steps(const ops::Stage& stage) {
  int64_t steps = 1;
  for (const ir::Expr& extent : stage.reduce_extents)
    steps *= ir::as_int(extent).value_or(int64_t{1} << 20);
  return steps;
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
  if (points.tiles_of_rows) order.push_back(*points.tiles_of_rows);
  const auto outside = static_cast<long>(order.size());
  // A window that is one straight piece is walked row by row, which share what they read.
  const bool straight = t.pattern == Pattern::window && t.reduce_axis < 0 && t.unroll > 1 &&
                        count_steps(s.stage()) <= t.unroll;
  const Loops& outer = straight ? points.tile : walk;
  const Loops& inner = straight ? walk : points.tile;
  order.insert(order.end(), outer.begin(), outer.end());
  order.insert(order.end(), inner.begin(), inner.end());
  if (points.lane) order.push_back(*points.lane);
  GS_TRY(arrange(s, order));
  const auto first = order.begin() + outside;
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

Result<> bind_workgroups(Schedule& s, const Loops& grid, const Loops& invocations) {
  GS_ASSIGN(const LoopId item, s.fuse(grid, "item"));
  GS_ASSIGN(const LoopId invocation, s.fuse(invocations, "invocation"));
  GS_TRY(s.bind(invocation, ir::LoopKind::group));
  return s.bind(item, ir::LoopKind::grid);
}

// The columns of a workgroup's tile: tiles, vectors of an invocation, invocations, lanes. Past the
// edge, the last tile starts earlier; where only the run knows the edge, nothing is stored there.
Result<Loops> split_columns(Schedule& s, const Tiling& t, LoopId axis) {
  const std::string name = s.nest().loop(axis).name;
  if (ir::as_int(s.nest().loop(axis).extent))
    return s.split(axis, {t.vectors, t.group_vectors, t.lanes}, Tail::shift,
                   {name + ".tile", "vec", name + ".thread", "lane"});
  GS_ASSIGN(const Loops vectors,
            s.split(axis, {t.lanes}, Tail::round_up, {name + ".vector", "lane"}));
  GS_ASSIGN(Loops parts, s.split(vectors[0], {t.vectors, t.group_vectors}, Tail::guard,
                                 {name + ".tile", "vec", name + ".thread"}));
  parts.push_back(vectors[1]);
  return parts;
}

// A workgroup's tile of the output, its invocations interleaved in it so that neighbours write
// neighbours, and both operands' tiles in group memory, block by block of one reduction axis. With
// parts, so many invocations share a tile of registers, each with every so-manieth block.
Result<> grouped(Schedule& s, const Tiling& t) {
  if (t.vector_axis < 0 || t.reduce_axis < 0)
    return fail("tiles in group memory are of vectors, along a reduced axis");
  Loops grid, group, tile;
  LoopId lane = -1;
  for (int i = 0; i < static_cast<int>(s.nest().axes.size()); ++i) {
    const LoopId axis = s.axis(static_cast<size_t>(i));
    if (i == t.joined_axis) continue;  // part of the row
    if (i == t.vector_axis) {
      GS_ASSIGN(const Loops parts, split_columns(s, t, axis));
      grid.push_back(parts[0]);
      tile.push_back(parts[1]);
      group.push_back(parts[2]);
      lane = parts[3];
    } else if (i == t.row_axis) {
      GS_ASSIGN(const LoopId rows, rows_of(s, t));
      const std::string name = s.nest().loop(rows).name;
      GS_ASSIGN(const Loops parts, s.split(rows, {t.rows, t.group_rows}, Tail::guard,
                                           {name + ".tile", "row", name + ".thread"}));
      grid.push_back(parts[0]);
      tile.insert(tile.begin(), parts[1]);
      group.insert(group.begin(), parts[2]);
    } else {
      grid.push_back(axis);
    }
  }
  Loops walk;
  for (size_t r = 0; r < s.stage().reduce_axes.size(); ++r) {
    if (static_cast<int>(r) != t.reduce_axis) walk.push_back(s.reduce_axis(r));
  }
  const LoopId along = s.reduce_axis(static_cast<size_t>(t.reduce_axis));
  const std::string name = s.nest().loop(along).var->name;
  Loops blocks;
  if (t.parts > 1) {
    GS_ASSIGN(blocks, s.split(along, {t.parts, t.reduce_block}, Tail::guard,
                              {name + ".block", "part", name}));
    GS_TRY(s.rfactor(blocks[1]));
    group.insert(group.begin(), blocks[1]);
    blocks.erase(blocks.begin() + 1);
  } else {
    GS_ASSIGN(blocks, s.split(along, {t.reduce_block}, Tail::guard, {name + ".block", name}));
  }
  walk.insert(walk.end(), blocks.begin(), blocks.end());
  Loops order = grid;
  for (const Loops& loops : {group, walk, tile})
    order.insert(order.end(), loops.begin(), loops.end());
  order.push_back(lane);
  GS_TRY(arrange(s, order));
  GS_TRY(s.accumulate(walk[0]));
  for (int operand : {0, 1}) GS_TRY(s.stage_in(blocks[0], operand, t.ahead));
  GS_TRY(unroll_innermost(s, {blocks[1]}, t.unroll));
  GS_TRY(unroll(s, tile));
  GS_TRY(s.vectorize(lane));
  return bind_workgroups(s, grid, group);
}

// Splits the reduction's axis among the invocations of a workgroup, by the number of parts and, if
// there is a second factor, the length of a piece: the loops that an invocation walks, and its
// part.
Result<std::pair<Loops, LoopId>> share_reduction(Schedule& s, const Tiling& t,
                                                 std::vector<int64_t> factors) {
  Loops walk;
  LoopId part = -1;
  for (size_t r = 0; r < s.stage().reduce_axes.size(); ++r) {
    walk.push_back(s.reduce_axis(r));
    if (static_cast<int>(r) != t.reduce_axis) continue;
    const std::string name = s.nest().loop(walk.back()).name;
    std::vector<std::string> names{name + ".step", "part"};
    if (factors.size() > 1) names.push_back(name);
    GS_ASSIGN(const Loops parts, s.split(walk.back(), factors, Tail::guard, names));
    walk.back() = parts[0];
    part = parts[1];
    walk.insert(walk.end(), parts.begin() + 2, parts.end());
  }
  GS_TRY(s.rfactor(part));
  return std::pair(walk, part);
}

// A few vectors of the output a workgroup, for each of which several invocations walk a part of the
// reduction; neighbours have neighbouring vectors.
Result<> parted(Schedule& s, const Tiling& t) {
  if (t.vector_axis < 0 || t.reduce_axis < 0) return fail("parts are of vectors, along an axis");
  Loops grid, tile;
  LoopId column = -1, lane = -1;
  for (int i = 0; i < static_cast<int>(s.nest().axes.size()); ++i) {
    const LoopId axis = s.axis(static_cast<size_t>(i));
    if (i == t.vector_axis) {
      const std::string name = s.nest().loop(axis).name;
      GS_ASSIGN(const Loops vectors,
                s.split(axis, {t.lanes}, Tail::exact, {name + ".vector", "lane"}));
      GS_ASSIGN(const Loops parts, s.split(vectors[0], {t.part_vectors}, Tail::guard,
                                           {name + ".tile", name + ".thread"}));
      grid.push_back(parts[0]);
      column = parts[1];
      lane = vectors[1];
    } else if (i == t.row_axis && t.rows > 1) {
      tile.push_back(axis);
    } else {
      grid.push_back(axis);
    }
  }
  GS_ASSIGN(const auto shared, share_reduction(s, t, {t.parts}));
  const auto& [walk, part] = shared;
  Loops order = grid;
  order.push_back(part);
  order.push_back(column);
  order.insert(order.end(), walk.begin(), walk.end());
  order.insert(order.end(), tile.begin(), tile.end());
  order.push_back(lane);
  GS_TRY(arrange(s, order));
  GS_TRY(s.accumulate(walk[0]));
  GS_TRY(unroll_innermost(s, walk, t.unroll));
  GS_TRY(unroll(s, tile));
  GS_TRY(s.vectorize(lane));
  return bind_workgroups(s, grid, {part, column});
}

// A few columns of the output a workgroup. Its invocations share the sum of each, one piece of
// neighbours after the other; neighbours have neighbouring pieces.
Result<> pieces(Schedule& s, const Tiling& t) {
  if (t.row_axis < 0 || t.reduce_axis < 0) return fail("pieces are of columns, along an axis");
  Loops grid;
  LoopId column = -1, row = -1;
  for (int i = 0; i < static_cast<int>(s.nest().axes.size()); ++i) {
    const LoopId axis = s.axis(static_cast<size_t>(i));
    if (i != t.row_axis) {
      grid.push_back(axis);
      continue;
    }
    const std::string name = s.nest().loop(axis).name;
    GS_ASSIGN(const Loops parts, s.split(axis, {t.part_vectors, t.rows}, Tail::guard,
                                         {name + ".tile", name + ".thread", "row"}));
    grid.push_back(parts[0]);
    column = parts[1];
    row = parts[2];
  }
  GS_ASSIGN(const auto shared, share_reduction(s, t, {t.parts, t.reduce_block}));
  const auto& [walk, part] = shared;
  Loops order = grid;
  order.push_back(column);
  order.push_back(part);
  order.insert(order.end(), walk.begin(), walk.end());
  order.push_back(row);
  GS_TRY(arrange(s, order));
  GS_TRY(s.accumulate(walk[0]));
  GS_TRY(unroll_innermost(s, walk, t.unroll));
  GS_TRY(unroll(s, {row}));
  return bind_workgroups(s, grid, {column, part});
}

// Rows and segments outside, the axis in order inside of each, lanes over neighbouring rows.
Result<> scan(Schedule& s, const Tiling& t) {
  GS_ASSIGN(Points points, place_points(s, t));
  LoopId walk = s.axis(s.stage().along);
  const auto place = std::ranges::find(points.grid, walk);
  if (s.stage().segment > 0) {
    const std::string name = s.nest().loop(walk).name;
    GS_ASSIGN(const Loops parts,
              s.split(walk, {s.stage().segment}, Tail::guard, {name + ".segment", name}));
    *place = parts[0];
    walk = parts[1];
    // Steps wait for each other, and those of other segments fill the time.
    const auto segments = ir::as_int(s.nest().loop(parts[0]).extent);
    if (t.rows > 1 && segments && *segments >= t.rows) {
      GS_ASSIGN(const Loops tile,
                s.split(parts[0], {t.rows}, Tail::shift, {name + ".tile", "row"}));
      *place = tile[0];
      points.tile.push_back(tile[1]);
    }
  } else {
    points.grid.erase(place);
  }
  Loops order = points.grid;
  order.push_back(walk);
  order.insert(order.end(), points.tile.begin(), points.tile.end());
  if (points.lane) order.push_back(*points.lane);
  GS_TRY(arrange(s, order));
  GS_TRY(s.accumulate(walk));
  return bind_points(s, points, t);
}

// A point that was read from a file may be another stage's.
Result<> check_axes(const ops::Stage& stage, const Tiling& t) {
  const auto has = [](int axis, size_t count) {
    return axis >= -1 && axis < static_cast<int>(count);
  };
  for (const int axis : {t.vector_axis, t.row_axis, t.joined_axis})
    if (!has(axis, stage.axes.size())) return fail(cat("the stage has no axis ", axis));
  if (!has(t.reduce_axis, stage.reduce_axes.size()))
    return fail(cat("the stage has no reduced axis ", t.reduce_axis));
  if ((t.pattern == Pattern::scan) != (stage.kind == ops::StageKind::scan) ||
      (t.pattern == Pattern::scatter) != (stage.kind == ops::StageKind::scatter))
    return fail(cat("the stage is no ", name_of(t.pattern)));
  return {};
}

Capabilities without_hardware(Capabilities capabilities) {
  capabilities.hardware = false;
  return capabilities;
}

}  // namespace

Result<Schedule> schedule_with(const ops::Stage& stage, const Capabilities& capabilities,
                               const Tiling& tiling) {
  GS_TRY(check_axes(stage, tiling));
  Schedule s(stage, capabilities, std::string(name_of(tiling.pattern)));
  switch (tiling.pattern) {
    case Pattern::scatter:
      break;  // in order: lower.h
    case Pattern::map:
      GS_TRY(map(s, tiling));
      break;
    case Pattern::scan:
      GS_TRY(scan(s, tiling));
      break;
    case Pattern::reduce:
    case Pattern::window:
    case Pattern::contraction:
      GS_TRY(is_grouped(tiling)                           ? grouped(s, tiling)
             : tiling.parts > 1 && tiling.vector_axis < 0 ? pieces(s, tiling)
             : tiling.parts > 1                           ? parted(s, tiling)
                                                          : reduction(s, tiling));
      break;
  }
  return s;
}

Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const Tiling& tiling) {
  GS_ASSIGN(Schedule schedule, schedule_with(group.last(), capabilities, tiling));
  ScheduledGroup made{{std::move(schedule)}, {}};
  GS_ASSIGN(made.kernel, lower(group, made.schedules));
  return made;
}

Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const RowTiling& tiling) {
  ScheduledGroup made;
  for (const Member& member : group.members) {
    GS_ASSIGN(Schedule schedule, schedule_rows(member, capabilities, tiling));
    made.schedules.push_back(std::move(schedule));
  }
  GS_ASSIGN(made.kernel, lower(group, made.schedules));
  return made;
}

ScheduledGroup schedule_default(const Group& group, const Capabilities& capabilities) {
  const auto with = [&](const Capabilities& caps) {
    return group.form == GroupForm::rows
               ? schedule_at(group, capabilities, default_row_tiling(group, caps))
               : schedule_at(group, capabilities, default_tiling(group.last(), caps));
  };
  auto made = with(capabilities);
  if (!made && capabilities.hardware) made = with(without_hardware(capabilities));
  GS_CHECK(made, title_of(group), ": ", made.error().to_string());
  return *std::move(made);
}

Schedule default_schedule(const ops::Stage& stage, const Capabilities& capabilities) {
  return std::move(schedule_default(single_group(stage), capabilities).schedules.back());
}

bool has_variant(const Group& group, const Capabilities& capabilities, const Capabilities& others) {
  if (group.form == GroupForm::rows)
    return default_row_tiling(group, others).threads !=
           default_row_tiling(group, capabilities).threads;
  return group.form == GroupForm::single &&
         default_tiling(group.last(), others) != default_tiling(group.last(), capabilities);
}

}  // namespace gossamer::schedule
