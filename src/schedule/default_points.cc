#include "schedule/default_points.h"

#include <algorithm>

#include "ir/build.h"
#include "schedule/access.h"
#include "schedule/texels.h"

namespace gossamer::schedule {
namespace {

std::string tile_name(const Schedule& s, size_t axis) {
  return s.stage().axes[axis]->name + ".tile";
}

Result<Points> place_texels(Schedule& s) {
  GS_ASSIGN(Texels texels, split_by_layout(s));
  Points points{std::move(texels.grid), {}, texels.lane};
  if (texels.layer) points.tile.push_back(*texels.layer);
  return points;
}

// Rows past the edge: the last tile starts early enough to end at it; where the extent is not known
// each row is held at the last one.
Tail tail_of_rows(const Schedule& s, LoopId loop) {
  return ir::as_int(s.nest().loop(loop).extent) ? Tail::shift : Tail::clamp;
}

// How lanes along the last axis of a plain tensor end, or in the padding of a blocked one.
Tail tail_of_lanes(const Schedule& s, int axis) {
  if (skips_lanes(s.stage(), axis, s.capabilities())) return Tail::guard;
  if (s.stage().kind != ops::StageKind::reduce || is_blocked(s.stage().output->layout))
    return Tail::round_up;
  return tail_of_rows(s, s.axis(static_cast<size_t>(axis)));
}

// A register tile of rows times vectors. Order of the outer loops: batch-like axes, then the tile
// along vectors (its operand stays cached), then rows.
Result<Points> place_tiles(Schedule& s, const Tiling& t) {
  Points points;
  std::optional<LoopId> row, vec;
  const int rank = static_cast<int>(s.nest().axes.size());
  const std::vector<int64_t> runs = t.share ? runs_of(s.stage()) : std::vector<int64_t>();
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    if (i == t.joined_axis) continue;  // part of the row
    if (t.share && i != t.vector_axis && runs[at] > 1) {
      if (ir::is_const(s.stage().extents[at], runs[at])) {
        points.tile.push_back(s.axis(at));
        continue;
      }
      const std::string name = s.nest().loop(s.axis(at)).name;
      GS_ASSIGN(const Loops parts,
                s.split(s.axis(at), {runs[at]}, Tail::mask, {tile_name(s, at), name}));
      points.grid.push_back(parts[0]);
      points.tile.push_back(parts[1]);
      continue;
    }
    if (i == t.vector_axis && t.vectors > 1) {
      GS_ASSIGN(const Loops parts, s.split(s.axis(at), {t.vectors, t.lanes}, Tail::round_up,
                                           {tile_name(s, at), "vec", "lane"}));
      points.grid.push_back(parts[0]);
      vec = parts[1];
      points.lane = parts[2];
    } else if (i == t.vector_axis) {
      GS_ASSIGN(const Loops parts,
                s.split(s.axis(at), {t.lanes}, tail_of_lanes(s, i), {tile_name(s, at), "lane"}));
      points.grid.push_back(parts[0]);
      points.lane = parts[1];
    } else if (i == t.row_axis && (t.rows > 1 || t.joined_axis >= 0)) {
      GS_ASSIGN(const LoopId rows, rows_of(s, t));
      GS_ASSIGN(const Loops parts,
                s.split(rows, {t.rows}, tail_of_rows(s, rows), {tile_name(s, at), "row"}));
      if (t.cache >= 0) {
        points.tiles_of_rows = parts[0];
      } else {
        points.grid.push_back(parts[0]);
      }
      row = parts[1];
    } else {
      points.grid.push_back(s.axis(at));
    }
  }
  if (row) points.tile.push_back(*row);
  if (vec) points.tile.push_back(*vec);
  return points;
}

}  // namespace

Result<Points> place_points(Schedule& s, const Tiling& t) {
  const bool texels = s.stage().output->layout.memory == ir::Memory::texture;
  return texels ? place_texels(s) : place_tiles(s, t);
}

Result<LoopId> rows_of(Schedule& s, const Tiling& t) {
  const LoopId rows = s.axis(static_cast<size_t>(t.row_axis));
  if (t.joined_axis < 0) return rows;
  const LoopId before = s.axis(static_cast<size_t>(t.joined_axis));
  const Nest& nest = s.nest();
  return s.fuse({before, rows}, cat(nest.loop(before).name, ".", nest.loop(rows).name));
}

Result<> arrange(Schedule& s, const Loops& wanted) {
  const Loops& order = s.order();
  const auto [first, differs] = std::ranges::mismatch(wanted, order);
  if (first == wanted.end()) return {};
  auto last = wanted.end();
  for (auto at = order.end(); *(last - 1) == *(at - 1); --at) --last;
  return s.reorder({first, last});
}

Result<> unroll(Schedule& s, Loops loops) {
  std::erase_if(loops, [&](LoopId id) { return ir::is_const(s.nest().loop(id).extent, 1); });
  return loops.empty() ? Result<>{} : s.unroll(std::move(loops));
}

Result<> bind_points(Schedule& s, const Points& points, const Tiling& t) {
  GS_TRY(unroll(s, points.tile));
  if (points.lane) GS_TRY(s.vectorize(*points.lane));
  GS_ASSIGN(LoopId item, points.grid.empty() ? s.unit("item") : s.fuse(points.grid, "item"));
  if (t.cache >= 0) GS_TRY(s.cache(item, t.cache));
  if (t.group_size > 1) {
    GS_ASSIGN(const Loops parts,
              s.split(item, {t.group_size}, Tail::guard, {"item", "invocation"}));
    GS_TRY(s.bind(parts[1], ir::LoopKind::group));
    item = parts[0];
  }
  return s.bind(item, ir::LoopKind::grid);
}

}  // namespace gossamer::schedule
