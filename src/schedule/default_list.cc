// Default lists: one form per access pattern, never per operator.
#include "ir/build.h"
#include "schedule/access.h"
#include "schedule/tiling.h"

namespace gossamer::schedule {
namespace {

using ops::Stage;

std::string point(int axis) { return cat("i", axis); }
std::string step(int axis) { return cat("k", axis); }

// The rows of a tile: an axis, fused with the one before it where both are walked as one.
std::string rows_of(const Tiling& t) {
  return t.joined_axis < 0 ? point(t.row_axis) : cat(point(t.joined_axis), ".", point(t.row_axis));
}

bool in_textures(const Stage& stage) { return stage.output->layout.memory == ir::Memory::texture; }

// Loops over the points of a tile, outermost first, and its lanes.
struct Tile {
  std::string loops, lane;

  std::string all() const { return names_of({loops, lane}); }
};

// A register tile of rows times vectors, or the texels of a place.
Tile split_points(const Stage& stage, const Tiling& t, List& list) {
  if (in_textures(stage)) {
    add(list, "texels() -> layer, lane");
    return {"layer", "lane"};
  }
  Tile tile;
  std::string shared;
  const std::vector<int64_t> runs = t.share ? runs_of(stage) : std::vector<int64_t>();
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i) {
    const std::string axis = point(i);
    if (i == t.vector_axis) {
      tile.lane = "lane";
      if (t.pattern == Pattern::map || t.pattern == Pattern::scan) {
        add(list, "tile(", axis, ", ", t.lanes, ") -> ", axis, ".tile, lane");
      } else {
        tile.loops = "vec";
        add(list, "tile(", axis, ", ", t.vectors, ", ", t.lanes, ") -> ", axis, ".tile, vec, lane");
      }
    } else if (t.share && runs[static_cast<size_t>(i)] > 1) {
      const int64_t run = runs[static_cast<size_t>(i)];
      if (!ir::is_const(stage.extents[static_cast<size_t>(i)], run))
        add(list, "split(", axis, ", ", run, ", mask) -> ", axis, ".tile, ", axis);
      shared = names_of({shared, axis});
    } else if (i == t.row_axis) {
      add(list, "tile(", rows_of(t), ", ", t.rows, ") -> ", axis, ".tile, row");
      if (t.row_tiles > 1)
        add(list, "split(", axis, ".tile, ", t.row_tiles, ", guard) -> ", axis, ".tiles, ", axis,
            ".tile");
    }
  }
  tile.loops = names_of({shared, t.row_axis >= 0 ? "row" : "", tile.loops});
  return tile;
}

// The tile in registers and vectors, the rest bound to the launch.
void bind_points(const Tile& tile, const Tiling& t, List& list) {
  if (!tile.loops.empty()) add(list, "unroll(", tile.loops, ")");
  if (!tile.lane.empty()) add(list, "vectorize(", tile.lane, ")");
  add(list, "fuse(..", t.chunk > 1 ? cat(", ", t.chunk) : "", ") -> item");
  if (t.cache >= 0) add(list, "cache(item, ", t.cache, ")");
  if (t.group_size > 1) {
    add(list, "tile(item, ", t.group_size, ", guard) -> item, invocation");
    add(list, "bind(invocation, group)");
  }
  add(list, "bind(item, grid)");
}

void bind_group(std::string_view invocations, List& list) {
  add(list, "fuse(..) -> item");
  add(list, "fuse(", invocations, ") -> invocation");
  add(list, "bind(invocation, group)");
  add(list, "bind(item, grid)");
}

// On CPUs a map's innermost axes stay loops inside the work item, so that one holds `chunk` points.
void map(const Stage& stage, const Tiling& t, List& list) {
  const Tile tile = split_points(stage, t, list);
  if (!tile.all().empty()) add(list, "reorder(", tile.all(), ")");
  bind_points(tile, t, list);
}

// 2^20 where a run tells.
int64_t count_steps(const Stage& stage) {
  int64_t steps = 1;
  for (const ir::Expr& extent : stage.reduce_extents)
    steps *= ir::as_int(extent).value_or(int64_t{1} << 20);
  return steps;
}

// Tiles of the output outside, walks over the reduction in them, a register tile innermost. The
// axis that an operand is blocked along is walked block by block, its elements innermost.
void reduction(const Stage& stage, const Tiling& t, List& list) {
  Tile tile = split_points(stage, t, list);
  std::string element;
  if (t.reduce_axis >= 0) {
    const std::string axis = step(t.reduce_axis);
    (t.partial ? tile.lane : element) = t.partial ? "lane" : axis;
    add(list, t.partial ? "tile(" : "split(", axis, ", ", t.reduce_block, ", guard) -> ", axis,
        ".block, ", t.partial ? "lane" : axis);
    if (t.partial) add(list, "rfactor(lane)");
  }
  // A window that is one straight piece is walked row by row, which share what they read.
  const bool straight = t.pattern == Pattern::window && t.reduce_axis < 0 && t.unroll > 1 &&
                        count_steps(stage) <= t.unroll;
  const std::string walk = names_of({"k..", element});
  const std::string inside =
      straight ? names_of({tile.loops, walk, tile.lane}) : names_of({walk, tile.loops, tile.lane});
  const bool rows_inside = t.cache >= 0 || t.rows_inside;
  add(list, "reorder(", rows_inside ? cat(point(t.row_axis), ".tile, ") : "", inside, ")");
  add(list, "accumulate(", inside, ")");
  if (t.reduce_axis >= 0) add(list, "peel(", step(t.reduce_axis), ".block)");
  add(list, "unroll(k.., ", t.unroll, ")");
  bind_points(tile, t, list);
}

// A workgroup's tile of the output, its invocations interleaved in it so that neighbours write
// neighbours, and both operands' tiles in group memory, block by block of one reduction axis. With
// parts, so many invocations share a tile of registers, each with every so-manieth block.
void grouped(const Stage& stage, const Tiling& t, List& list) {
  std::string row_thread, column_thread;
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i) {
    const std::string axis = i == t.row_axis ? rows_of(t) : point(i);
    if (i == t.vector_axis) {
      column_thread = axis + ".thread";
      // Past the edge, the last tile starts earlier; where only the run knows the edge, nothing is
      // stored there.
      if (ir::as_int(stage.extents[static_cast<size_t>(i)])) {
        add(list, "split(", axis, ", ", t.vectors, ", ", t.group_vectors, ", ", t.lanes,
            ", shift) -> ", axis, ".tile, vec, ", column_thread, ", lane");
      } else {
        add(list, "split(", axis, ", ", t.lanes, ", round_up) -> ", axis, ".vector, lane");
        add(list, "split(", axis, ".vector, ", t.vectors, ", ", t.group_vectors, ", guard) -> ",
            axis, ".tile, vec, ", column_thread);
      }
    } else if (i == t.row_axis) {
      row_thread = axis + ".thread";
      add(list, "split(", axis, ", ", t.rows, ", ", t.group_rows, ", guard) -> ", axis,
          ".tile, row, ", row_thread);
    }
  }
  const std::string axis = step(t.reduce_axis), block = axis + ".block";
  add(list, "tile(", axis, ", ", t.parts, ", ", t.reduce_block, ", guard) -> ", block, ", part, ",
      axis);
  add(list, "rfactor(part)");
  const std::string group = names_of({"part", row_thread, column_thread});
  const std::string tile = names_of({row_thread.empty() ? "" : "row", "vec"});
  add(list, "reorder(", group, ", k.., ", block, ", ", axis, ", ", tile, ", lane)");
  add(list, "accumulate(k..)");
  for (const int operand : {0, 1})
    add(list, "stage_in(", block, ", ", operand, t.ahead ? ", ahead)" : ")");
  add(list, "unroll(", axis, ", ", t.unroll, ")");
  add(list, "unroll(", tile, ")");
  add(list, "vectorize(lane)");
  bind_group(group, list);
}

// A few vectors of the output a workgroup, for each of which several invocations walk a part of the
// reduction; neighbours have neighbouring vectors.
void parted(const Tiling& t, List& list) {
  const std::string axis = point(t.vector_axis), sum = step(t.reduce_axis);
  add(list, "split(", axis, ", ", t.lanes, ") -> ", axis, ".vector, lane");
  add(list, "split(", axis, ".vector, ", t.part_vectors, ", guard) -> ", axis, ".tile, ", axis,
      ".thread");
  add(list, "tile(", sum, ", ", t.parts, ", guard) -> ", sum, ".step, part");
  add(list, "rfactor(part)");
  const std::string group = cat("part, ", axis, ".thread");
  const std::string rows = t.row_axis >= 0 && t.rows > 1 ? point(t.row_axis) : "";
  add(list, "reorder(", names_of({group, "k..", rows, "lane"}), ")");
  add(list, "accumulate(k..)");
  add(list, "unroll(k.., ", t.unroll, ")");
  if (!rows.empty()) add(list, "unroll(", rows, ")");
  add(list, "vectorize(lane)");
  bind_group(group, list);
}

// A few columns of the output a workgroup. Its invocations share the sum of each, one piece of
// neighbours after the other; neighbours have neighbouring pieces.
void pieces(const Tiling& t, List& list) {
  const std::string axis = point(t.row_axis), sum = step(t.reduce_axis);
  add(list, "split(", axis, ", ", t.part_vectors, ", ", t.rows, ", guard) -> ", axis, ".tile, ",
      axis, ".thread, row");
  add(list, "split(", sum, ", ", t.parts, ", ", t.reduce_block, ", guard) -> ", sum,
      ".step, part, ", sum);
  add(list, "rfactor(part)");
  const std::string group = cat(axis, ".thread, part");
  add(list, "reorder(", group, ", k.., row)");
  add(list, "accumulate(k..)");
  add(list, "unroll(k.., ", t.unroll, ")");
  add(list, "unroll(row)");
  bind_group(group, list);
}

// Rows and segments outside, the axis in order inside of each, lanes over neighbouring rows.
void scan(const Stage& stage, const Tiling& t, List& list) {
  Tile tile = split_points(stage, t, list);
  const std::string walk = point(static_cast<int>(stage.along));
  if (stage.segment > 0) {
    add(list, "split(", walk, ", ", stage.segment, ", guard) -> ", walk, ".segment, ", walk);
    // Steps wait for each other, and those of other segments fill the time.
    const auto extent = ir::as_int(stage.extents[stage.along]);
    if (t.rows > 1 && extent && (*extent + stage.segment - 1) / stage.segment >= t.rows) {
      add(list, "split(", walk, ".segment, ", t.rows, ", shift) -> ", walk, ".tile, row");
      tile.loops = names_of({tile.loops, "row"});
    }
  }
  add(list, "reorder(", names_of({walk, tile.loops, tile.lane}), ")");
  add(list, "accumulate(", walk, ")");
  bind_points(tile, t, list);
}

}  // namespace

List list_of(const Stage& stage, const Tiling& t) {
  List list{std::string(name_of(t.pattern)), {}};
  switch (t.pattern) {
    case Pattern::scatter:
      break;  // in order: lower.h
    case Pattern::map:
      map(stage, t, list);
      break;
    case Pattern::scan:
      scan(stage, t, list);
      break;
    case Pattern::reduce:
    case Pattern::window:
    case Pattern::contraction:
      if (is_grouped(t)) {
        grouped(stage, t, list);
      } else if (t.parts > 1) {
        t.vector_axis < 0 ? pieces(t, list) : parted(t, list);
      } else {
        reduction(stage, t, list);
      }
      break;
  }
  return list;
}

}  // namespace gossamer::schedule
