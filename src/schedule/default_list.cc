// Default lists: one form per access pattern, never per operator.
#include <algorithm>

#include "ir/build.h"
#include "schedule/access.h"
#include "schedule/tiling_decoded.h"
#include "schedule/tiling_parts.h"

namespace gossamer::schedule {
namespace {

using ops::Stage;

// Loops over the points of a tile, outermost first, and its lanes.
struct Tile {
  std::string loops, lane;

  std::string all() const { return names_of({loops, lane}); }
};

bool in_textures(const Stage& stage) { return stage.output->layout.memory == ir::Memory::texture; }

// The texels of a place.
Tile split_texels(List& list) {
  add(list, "texels() -> layer, lane");
  return {"layer", "lane"};
}

std::string split_lanes(const Vector& vector, List& list) {
  if (vector.axis < 0) return "";
  add(list, "tile(i", vector.axis, ", ", vector.lanes, ") -> i", vector.axis, ".tile, lane");
  return "lane";
}

// A tile in registers and vectors, the rest bound to a launch of so many invocations a workgroup.
// Of the points outside, a work item has at least `chunk`.
void bind_points(const Tile& tile, int group_size, List& list, int64_t chunk = 1, int cache = -1) {
  if (!tile.loops.empty()) add(list, "unroll(", tile.loops, ")");
  if (!tile.lane.empty()) add(list, "vectorize(", tile.lane, ")");
  add(list, "fuse(..", chunk > 1 ? cat(", ", chunk) : "", ") -> item");
  if (cache >= 0) add(list, "cache(item, ", cache, ")");
  if (group_size > 1) {
    add(list, "tile(item, ", group_size, ", guard) -> item, invocation");
    add(list, "bind(invocation, group)");
  }
  add(list, "bind(item, grid)");
}

// Vectors, or, where neighbours read alike, all points of a run (access.h) from one reading. On
// CPUs the innermost axes stay loops inside the work item, so that it has points enough.
void map(const Stage& stage, const Capabilities& caps, List& list) {
  Tile tile;
  if (in_textures(stage)) {
    tile = split_texels(list);
  } else {
    const Vector vector = vector_of(stage, caps);
    std::vector<int64_t> runs(stage.axes.size(), 1);
    if (!caps.texture_memory && shares(stage, vector.axis)) runs = runs_of(stage);
    for (size_t i = 0; i < runs.size(); ++i) {
      if (static_cast<int>(i) == vector.axis) {
        tile.lane = split_lanes(vector, list);
      } else if (runs[i] > 1) {
        const std::string axis = cat("i", i);
        if (!ir::is_const(stage.extents[i], runs[i]))
          add(list, "split(", axis, ", ", runs[i], ", mask) -> ", axis, ".tile, ", axis);
        tile.loops = names_of({tile.loops, axis});
      }
    }
  }
  if (!tile.all().empty()) add(list, "reorder(", tile.all(), ")");
  bind_points(tile, caps.group_size, list, caps.map_chunk);
}

// Rows and segments outside, the axis in order inside of each, lanes over neighbouring rows.
void scan(const Stage& stage, const Capabilities& caps, List& list) {
  constexpr int segments = 4;  // at a time
  Tile tile;
  if (in_textures(stage)) {
    tile = split_texels(list);
  } else {
    tile.lane = split_lanes(vector_of(stage, caps), list);
  }
  const std::string walk = cat("i", stage.along);
  if (stage.segment > 0) {
    add(list, "split(", walk, ", ", stage.segment, ", guard) -> ", walk, ".segment, ", walk);
    // Steps wait for each other, and those of other segments fill the time.
    const auto extent = ir::as_int(stage.extents[stage.along]);
    if (stage.in_order && caps.scan_segment == 0 && extent &&
        (*extent + stage.segment - 1) / stage.segment >= segments) {
      add(list, "split(", walk, ".segment, ", segments, ", shift) -> ", walk, ".tile, row");
      tile.loops = names_of({tile.loops, "row"});
    }
  }
  add(list, "reorder(", names_of({walk, tile.loops, tile.lane}), ")");
  add(list, "accumulate(", walk, ")");
  bind_points(tile, caps.group_size, list);
}

// A register tile of rows times vectors.
Tile split_points(const Stage& stage, const Tiling& t, List& list) {
  if (in_textures(stage)) return split_texels(list);
  Tile tile;
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i) {
    const std::string axis = cat("i", i);
    if (i == t.vector_axis) {
      tile.lane = "lane";
      add(list, "tile(", axis, ", ", t.vectors, ", ", t.lanes, ") -> ", axis, ".tile, vec, lane");
    } else if (i == t.row_axis) {
      add(list, "tile(", rows_named(t.joined_axis, i), ", ", t.rows, ") -> ", axis, ".tile, row");
      if (t.row_tiles > 1)
        add(list, "split(", axis, ".tile, ", t.row_tiles, ", guard) -> ", axis, ".tiles, ", axis,
            ".tile");
    }
  }
  tile.loops = names_of({t.row_axis >= 0 ? "row" : "", t.vector_axis >= 0 ? "vec" : ""});
  return tile;
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
  Tile tile = split_points(stage, t, list);
  const std::string blocked = t.reduce_axis >= 0 ? cat("k", t.reduce_axis) : "";
  if (t.partial) tile.lane = "lane";
  if (t.reduce_axis >= 0) {
    add(list, t.partial ? "tile(" : "split(", blocked, ", ", t.reduce_block, ", guard) -> ",
        blocked, ".block, ", t.partial ? "lane" : blocked);
    if (t.partial) add(list, "rfactor(lane)");
  }
  // A window that is one straight piece is walked row by row, which share what they read.
  const bool straight = t.pattern == Pattern::window && t.reduce_axis < 0 && t.unroll > 1 &&
                        count_steps(stage) <= t.unroll;
  const std::string walk = names_of({"k..", t.partial ? "" : blocked});
  const std::string inside =
      straight ? names_of({tile.loops, walk, tile.lane}) : names_of({walk, tile.loops, tile.lane});
  const bool rows_inside = t.cache >= 0 || t.rows_inside;
  add(list, "reorder(", rows_inside ? cat("i", t.row_axis, ".tile, ") : "", inside, ")");
  add(list, "accumulate(", inside, ")");
  if (t.reduce_axis >= 0) add(list, "peel(", blocked, ".block)");
  add(list, "unroll(k.., ", t.unroll, ")");
  bind_points(tile, group_size_for(stage, t, caps), list, 1, t.cache);
  return list;
}

List default_list(const Stage& stage, const Capabilities& caps) {
  const Pattern pattern = pattern_of(stage);
  List list{std::string(name_of(pattern)), {}};  // of a scatter, which goes in order: lower.h
  if (pattern == Pattern::map) map(stage, caps, list);
  if (pattern == Pattern::scan) scan(stage, caps, list);
  if (stage.kind != ops::StageKind::reduce) return list;
  if (auto few = few_rows_list(stage, caps)) return *std::move(few);
  if (auto tiles = group_tile_list(stage, caps)) return *std::move(tiles);
  const Tiling tiling = default_tiling(stage, caps);
  if (auto parts = parted_list(stage, tiling, caps)) return *std::move(parts);
  return register_list(stage, tiling, caps);
}

}  // namespace gossamer::schedule
