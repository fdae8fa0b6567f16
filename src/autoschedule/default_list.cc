// Default lists: one form per access pattern, never per operator.
#include <algorithm>

#include "autoschedule/tiling_decoded.h"
#include "autoschedule/tiling_parts.h"
#include "ir/build.h"
#include "stages/access.h"

namespace gossamer::autoschedule {
namespace {

using schedule::List;
using stages::Pattern;
using stages::Stage;
using target::Capabilities;

// Loops over the points of a tile, outermost first, and its lanes.
struct Tile {
  std::string loops, lane;
};

bool in_textures(const Stage& stage) { return stage.output->layout.memory == ir::Memory::texture; }

// A tile in registers and vectors, the rest bound to a launch of so many invocations a workgroup.
// Of the points outside, a work item has at least `chunk`.
void bind_points(const Tile& tile, int group_size, List& list, int64_t chunk = 1, int cache = -1) {
  add(list, "unroll($0); vectorize($1); fuse(.., $2) -> item", tile.loops, tile.lane,
      chunk > 1 ? cat(chunk) : "");
  if (cache >= 0) add(list, "cache(item, $0)", cache);
  if (group_size > 1)
    add(list, "tile(item, $0, guard) -> item, invocation; bind(invocation, group)", group_size);
  add(list, "bind(item, grid)");
}

// The points of a map or a scan: texels, or vectors, or, where neighbours read alike, all points of
// a run (access.h) from one reading.
Tile split_points(const Stage& stage, const Capabilities& caps, List& list) {
  if (in_textures(stage)) {
    add(list, "texels() -> layer, lane");
    return {"layer", "lane"};
  }
  Tile tile;
  const Vector vector = vector_of(stage, caps);
  const bool share = stage.kind == stages::StageKind::compute && !caps.texture_memory &&
                     shares(stage, vector.axis);
  const std::vector<int64_t> runs =
      share ? runs_of(stage) : std::vector<int64_t>(stage.axes.size(), 1);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (static_cast<int>(i) == vector.axis) {
      add(list, "tile(i$0, $1) -> i$0.tile, lane", i, vector.lanes);
      tile.lane = "lane";
    } else if (runs[i] > 1) {
      if (!ir::is_const(stage.extents[i], runs[i]))
        add(list, "split(i$0, $1, mask) -> i$0.tile, i$0", i, runs[i]);
      tile.loops += cat(", i", i);
    }
  }
  return tile;
}

// On CPUs the innermost axes stay loops inside the work item, so that it has points enough.
void map(const Stage& stage, const Capabilities& caps, List& list) {
  const Tile tile = split_points(stage, caps, list);
  add(list, "reorder($0, $1)", tile.loops, tile.lane);
  bind_points(tile, caps.group_size, list, caps.map_chunk);
}

// Rows and segments outside, the axis in order inside of each, lanes over neighbouring rows.
void scan(const Stage& stage, const Capabilities& caps, List& list) {
  constexpr int segments = 4;  // at a time
  Tile tile = split_points(stage, caps, list);
  const std::string walk = cat("i", stage.along);
  if (stage.segment > 0) {
    add(list, "split($0, $1, guard) -> $0.segment, $0", walk, stage.segment);
    // Steps wait for each other, and those of other segments fill the time.
    const int64_t count =
        (extent_or(stage.extents[stage.along], 0) + stage.segment - 1) / stage.segment;
    if (stage.in_order && caps.scan_segment == 0 && count >= segments) {
      add(list, "split($0.segment, $1, shift) -> $0.tile, row", walk, segments);
      tile.loops += ", row";
    }
  }
  add(list, "reorder($0, $1, $2); accumulate($0)", walk, tile.loops, tile.lane);
  bind_points(tile, caps.group_size, list);
}

// 2^20 where a run tells.
int64_t count_steps(const Stage& stage) {
  int64_t steps = 1;
  for (const ir::Expr& extent : stage.reduce_extents) steps *= extent_or(extent, int64_t{1} << 20);
  return steps;
}

// Where invocations are few, smaller workgroups are spread over more processors.
int group_size_for(const Stage& stage, const Tiling& t, const Capabilities& caps) {
  int64_t tiles = 1;
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i) {
    const int64_t step = i == t.vector_axis ? int64_t{t.vectors} * t.lanes
                         : i == t.row_axis  ? t.rows
                                            : 1;
    tiles *= (extent_at(stage, i) + step - 1) / step;
  }
  return tiles < costs_of(caps).tiles ? std::min(caps.group_size, 32) : caps.group_size;
}

// A product of few rows with a factor that is decoded from bytes has a kernel of its own on GPUs.
std::optional<List> few_rows_list(const Stage& stage, const Capabilities& caps) {
  if (!caps.hardware) return std::nullopt;
  const ir::Expr rows = rows_of_decoded(stage);
  const bool few = rows.get() && extent_or(rows, few_rows(caps) + 1) <= few_rows(caps);
  return few ? list_for_few_rows(stage, caps) : std::nullopt;
}

}  // namespace

std::string rows_named(int joined_axis, int axis) {
  return joined_axis < 0 ? cat("i", axis) : cat("i", joined_axis, ".i", axis);
}

// Tiles of the output outside, walks over the reduction in them, a register tile innermost. The
// axis that an operand is blocked along is walked block by block, its elements innermost.
List register_list(const Stage& stage, const Tiling& t, const Capabilities& caps) {
  List list{std::string(name_of(t.pattern)), {}};
  Tile tile;
  if (in_textures(stage)) {
    add(list, "texels() -> layer, lane");
    tile = {"layer", "lane"};
  }
  for (int i = 0; !in_textures(stage) && i < static_cast<int>(stage.axes.size()); ++i) {
    if (i == t.vector_axis) {
      add(list, "tile(i$0, $1, $2) -> i$0.tile, vec, lane", i, t.vectors, t.lanes);
      tile = {tile.loops + ", vec", "lane"};
    } else if (i == t.row_axis) {
      add(list, "tile($0, $1) -> i$2.tile, row", rows_named(t.joined_axis, i), t.rows, i);
      if (t.row_tiles > 1)
        add(list, "split(i$0.tile, $1, guard) -> i$0.tiles, i$0.tile", i, t.row_tiles);
      tile.loops = "row" + tile.loops;
    }
  }
  // A window that is one straight piece is walked row by row, which share what they read.
  const bool straight = t.pattern == Pattern::window && t.reduce_axis < 0 && t.unroll > 1 &&
                        count_steps(stage) <= t.unroll;
  std::string walk = "k..";
  if (t.partial) {
    add(list, "tile(k$0, $1, guard) -> k$0.block, lane; rfactor(lane)", t.reduce_axis,
        t.reduce_block);
    tile.lane = "lane";
  } else if (t.reduce_axis >= 0) {
    add(list, "split(k$0, $1, guard) -> k$0.block, k$0", t.reduce_axis, t.reduce_block);
    walk += cat(", k", t.reduce_axis);
  }
  const bool rows_inside = t.cache >= 0 || t.rows_inside;
  add(list, "reorder($0, $1, $2, $3); accumulate($1, $2, $3)",
      rows_inside ? cat("i", t.row_axis, ".tile") : "", straight ? tile.loops : walk,
      straight ? walk : tile.loops, tile.lane);
  if (t.reduce_axis >= 0) add(list, "peel(k$0.block)", t.reduce_axis);
  add(list, "unroll(k.., $0)", t.unroll);
  bind_points(tile, group_size_for(stage, t, caps), list, 1, t.cache);
  return list;
}

List default_list(const Stage& stage, const Capabilities& caps) {
  const Pattern pattern = pattern_of(stage);
  List list{std::string(name_of(pattern)), {}};  // of a scatter, which goes in order: lower.h
  if (pattern == Pattern::map) map(stage, caps, list);
  if (pattern == Pattern::scan) scan(stage, caps, list);
  if (stage.kind != stages::StageKind::reduce) return list;
  if (auto few = few_rows_list(stage, caps)) return *std::move(few);
  if (auto tiles = group_tile_list(stage, caps)) return *std::move(tiles);
  const Tiling tiling = default_tiling(stage, caps);
  if (auto parts = parted_list(stage, tiling, caps)) return *std::move(parts);
  return register_list(stage, tiling, caps);
}

}  // namespace gossamer::autoschedule
