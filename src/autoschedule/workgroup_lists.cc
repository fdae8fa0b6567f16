// Lists in which the invocations of a workgroup share operands or sums.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "autoschedule/tiling_parts.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/stage_in.h"
#include "stages/access.h"
#include "stages/factors.h"
#include "target/costs.h"

namespace gossamer::autoschedule {
namespace {

using ir::Expr;
using schedule::List;
using schedule::most_padded_bytes;
using stages::Along;
using stages::Factors;
using stages::Pattern;
using stages::Stage;
using target::Capabilities;
using target::Costs;
using target::GroupTile;

// The reduction's axis to walk in blocks: one that an operand is contiguous along, else the
// longest.
int block_axis(const Stage& stage, const Capabilities& caps) {
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  int longest = 0;
  for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
    for (const ir::Load* load : loads_of(stage.values)) {
      if (extent_or(stage.reduce_extents[r], 64) >= caps.vector_lanes &&
          stages::along(*load, load->buffer->layout, stage.reduce_axes[r], caps.vector_lanes,
                        bounds) == Along::contiguous)
        return static_cast<int>(r);
    }
    const auto length = [&](size_t at) { return extent_or(stage.reduce_extents[at], 64); };
    if (length(r) > length(static_cast<size_t>(longest))) longest = static_cast<int>(r);
  }
  return longest;
}

// The rows of a workgroup's tile: the longest axis that the factor of the columns stands still
// along, as the other one does along the vectors, with the axis before it where that is so, too.
struct GroupRows {
  int axis = -1, joined = -1;
  int64_t extent = 1;
};
GroupRows group_rows(const Stage& stage, int vector_axis) {
  const Factors factors = factors_of(stage);
  const auto uses = [&](const Expr& factor, int axis) {
    return ir::uses(factor, stage.axes[static_cast<size_t>(axis)].get());
  };
  GroupRows best;
  for (const auto& [rows, columns] : {std::pair(factors.a, factors.b), {factors.b, factors.a}}) {
    if (uses(rows, vector_axis)) continue;
    for (int i = static_cast<int>(stage.axes.size()); i-- > 0;) {
      if (i == vector_axis || uses(columns, i)) continue;
      const bool joins = i > 0 && i - 1 != vector_axis && !uses(columns, i - 1);
      const GroupRows found{i, joins ? i - 1 : -1,
                            extent_at(stage, i) * (joins ? extent_at(stage, i - 1) : 1)};
      if (found.extent > best.extent) best = found;
    }
  }
  return best;
}

// Whether the tile of the columns would have no room for padding.
bool is_too_large_to_pad(const GroupTile& tile, int64_t across) {
  return 4 * across * tile.block * tile.parts >= most_padded_bytes;
}

// Whether the columns' factor is stored along the reduction instead of along the vectors.
bool lies_along_reduction(const Stage& stage, int vector_axis, const Capabilities& caps) {
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  const ir::Var& axis = stage.axes[static_cast<size_t>(vector_axis)];
  return std::ranges::none_of(loads_of(stage.values), [&](const ir::Load* load) {
    return stages::along(*load, load->buffer->layout, axis, caps.vector_lanes, bounds) ==
           Along::contiguous;
  });
}

}  // namespace

// Its invocations are interleaved in the tile, so that neighbours write neighbours, and both
// operands' tiles lie in group memory, block by block of one reduction axis. With parts, so many
// invocations share a tile of registers, each with every so-manieth block.
List group_tile_list(const Stage& stage, const TileAxes& axes, const GroupTile& tile) {
  List list{"contraction", {}};
  const int column = axes.vector.axis;
  const std::string rows = rows_named(axes.joined_row, axes.row);
  const auto split_rows = [&] {
    add(list, "split($0, $1, $2, guard) -> $0.tile, row, $0.thread", rows, tile.rows,
        tile.group_rows);
  };
  if (axes.row < column) split_rows();
  // Past the edge, the last tile starts earlier; where only the run knows the edge, nothing is
  // stored there.
  add(list,
      ir::as_int(stage.extents[static_cast<size_t>(column)])
          ? "split(i$0, $1, $2, $3, shift) -> i$0.tile, vec, i$0.thread, lane"
          : "split(i$0, $3, round_up) -> i$0.vector, lane;"
            "split(i$0.vector, $1, $2, guard) -> i$0.tile, vec, i$0.thread",
      column, tile.vectors, tile.group_vectors, axes.vector.lanes);
  if (axes.row > column) split_rows();
  const std::string group = cat("part, ", rows, ".thread, i", column, ".thread");
  add(list,
      "tile(k$0, $1, $2, guard) -> k$0.block, part, k$0; rfactor(part);"
      "reorder($3, k.., k$0.block, k$0, row, vec, lane); accumulate(k..);"
      "stage_in(k$0.block, 0, $4); stage_in(k$0.block, 1, $4);"
      "unroll(k$0, $5); unroll(row, vec); vectorize(lane)",
      axes.step, tile.parts, tile.block, group, tile.ahead ? "ahead" : "", tile.unroll);
  bind_group(group, list);
  return list;
}

std::optional<List> group_tile_list(const Stage& stage, const Capabilities& caps) {
  const Costs& costs = costs_of(caps);
  if (costs.group_tiles.empty() || pattern_of(stage) != Pattern::contraction ||
      !factors_of(stage).a.get())
    return std::nullopt;
  const Vector vector = vector_of(stage, caps);
  if (vector.axis < 0) return std::nullopt;
  const auto known = ir::as_int(stage.extents[static_cast<size_t>(vector.axis)]);
  if (known && *known % vector.lanes != 0) return std::nullopt;
  const int64_t columns = extent_at(stage, vector.axis);
  const GroupRows rows = group_rows(stage, vector.axis);
  const int along = block_axis(stage, caps);
  const int64_t length = extent_or(stage.reduce_extents[static_cast<size_t>(along)], 64);
  if (rows.extent < costs.least_group_rows || length < costs.least_group_reduction)
    return std::nullopt;
  int64_t others = 1, steps = 1;
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i)
    others *= i == rows.axis || i == vector.axis || i == rows.joined ? 1 : extent_at(stage, i);
  for (const Expr& extent : stage.reduce_extents) steps *= extent_or(extent, 64);
  const bool joins = ir::byte_size(stage.accumulators[0].left->type.dtype) == 4;
  const bool lies_along = lies_along_reduction(stage, vector.axis, caps);
  const auto fits = [&](const GroupTile& tile) {
    const int64_t down = tile.rows * tile.group_rows;
    const int64_t across = tile.vectors * tile.group_vectors * vector.lanes;
    const int64_t groups =
        others * ((rows.extent + down - 1) / down) * ((columns + across - 1) / across);
    // Of many parts, half would have nothing to do.
    return (lies_along ? !is_too_large_to_pad(tile, across) : !tile.along) && columns >= across &&
           groups >= tile.groups && steps >= tile.reduction &&
           (tile.parts == 1 || (joins && 2 * length >= tile.parts * tile.block));
  };
  const auto tile = std::ranges::find_if(costs.group_tiles, fits);
  if (tile == costs.group_tiles.end()) return std::nullopt;
  return group_tile_list(stage, {vector, rows.joined, rows.axis, along}, *tile);
}

// Each invocation walks every so-manieth step of the reduction, for a few vectors of the output a
// workgroup; neighbours have neighbouring vectors.
std::optional<List> parted_list(const Stage& stage, const Tiling& tiling,
                                const Capabilities& caps) {
  const Costs& costs = costs_of(caps);
  if (costs.busy == 0 || tiling.vector_axis < 0 || stage.in_order || !stage.starts.empty() ||
      stage.reduce_extents.empty())
    return std::nullopt;
  const auto columns = ir::as_int(stage.extents[static_cast<size_t>(tiling.vector_axis)]);
  if (!columns || *columns % tiling.lanes != 0) return std::nullopt;
  int64_t points = 1, steps = 1;
  for (size_t i = 0; i < stage.axes.size(); ++i) points *= extent_at(stage, static_cast<int>(i));
  size_t longest = 0;
  for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
    const auto length = [&](size_t at) { return extent_or(stage.reduce_extents[at], 64); };
    steps *= length(r);
    if (length(r) > length(longest)) longest = r;
  }
  // So many that all are busy, and each has some steps.
  const int64_t most =
      std::min({costs.parts, costs.busy * 4 / std::max<int64_t>(points / tiling.lanes, 1),
                steps / costs.part_steps, extent_or(stage.reduce_extents[longest], 64)});
  if (most < 2) return std::nullopt;
  // All rows at once read what they share once.
  const auto rows = tiling.row_axis < 0
                        ? std::nullopt
                        : ir::as_int(stage.extents[static_cast<size_t>(tiling.row_axis)]);
  const std::string row = rows && *rows > 1 && *rows <= 4 ? cat("i", tiling.row_axis) : "";
  List list{std::string(name_of(tiling.pattern)), {}};
  add(list,
      "split(i$0, $1) -> i$0.vector, lane;"
      "split(i$0.vector, $2, guard) -> i$0.tile, i$0.thread;"
      "tile(k$3, $4, guard) -> k$3.step, part; rfactor(part);"
      "reorder(part, i$0.thread, k.., $5, lane); accumulate(k..);"
      "unroll(k.., $6); unroll($5); vectorize(lane)",
      tiling.vector_axis, tiling.lanes, costs.part_vectors, longest,
      std::bit_floor(static_cast<uint64_t>(most)), row, tiling.unroll);
  bind_group(cat("part, i", tiling.vector_axis, ".thread"), list);
  return list;
}

void bind_group(std::string_view invocations, List& list) {
  add(list, "fuse(..) -> item; fuse($0) -> invocation; bind(invocation, group); bind(item, grid)",
      invocations);
}

}  // namespace gossamer::autoschedule
