#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/access.h"
#include "schedule/schedule.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ops::Stage;
using ops::StageKind;

int64_t extent_or(const Expr& e, int64_t fallback) { return ir::as_int(e).value_or(fallback); }

bool moves(const ir::Load& load, const ir::Var& axis) {
  return std::ranges::any_of(load.indices, [&](const Expr& e) { return ir::uses(e, axis.get()); });
}

// Vectors along the axis that the output's layout asks for.
void choose_vector(const Stage& stage, const Capabilities& caps, Tiling& tiling) {
  const ir::Layout& layout = stage.output->layout;
  const int rank = static_cast<int>(stage.output->shape.size());
  if (layout.flat) {
    // A texel of a port: four points in row-major order. A scalar is one point, held by all four.
    tiling.lanes = rank == 0 ? 1 : 4;
    return;
  }
  if (rank == 0) return;
  const int dim = vector_dim(layout, rank);
  const bool whole =
      is_blocked(layout) ||
      extent_or(stage.output->shape[static_cast<size_t>(dim)], 1) % caps.vector_lanes == 0;
  if (!whole) return;
  tiling.vector_axis = dim;
  tiling.lanes = caps.vector_lanes;
}

struct Tile {
  int rows = 1, vectors = 1;
  double cost = 1e30;
};

// The register tile for `extent` rows of `blocks` vectors that costs least: its multiplications,
// its loads, and what lies past the edge.
Tile best_tile(int64_t extent, int64_t blocks, int max_vectors, const Capabilities& caps) {
  Tile best;
  for (int vectors = 1; vectors <= max_vectors; ++vectors) {
    if (blocks % vectors != 0) continue;
    for (int rows = 1; rows <= caps.tile_rows && rows <= extent; ++rows) {
      if (rows * vectors + vectors + 1 > caps.vector_registers) continue;
      const int64_t across = (extent + rows - 1) / rows, along = blocks / vectors;
      const auto tiles = static_cast<double>(across * along);
      const double cost = tiles * (rows * vectors + 0.6 * (rows + vectors) + 0.8);
      if (cost < best.cost) best = {rows, vectors, cost};
    }
  }
  return best;
}

// Rows reuse the operand that moves along the vectors: an axis along which some operand stands
// still.
void choose_rows(const Stage& stage, const Capabilities& caps, Tiling& tiling) {
  const auto terms = loads_of(stage.values);
  int64_t best_extent = 1;
  for (int i = static_cast<int>(stage.axes.size()) - 1; i >= 0; --i) {
    if (i == tiling.vector_axis) continue;
    const bool reuse = std::ranges::any_of(terms, [&](const ir::Load* load) {
      return !moves(*load, stage.axes[static_cast<size_t>(i)]);
    });
    const int64_t extent = extent_or(stage.extents[static_cast<size_t>(i)], 64);
    if (!reuse || extent < 2) continue;
    if (tiling.row_axis < 0 || (best_extent < 4 && extent > best_extent)) {
      tiling.row_axis = i;
      best_extent = extent;
    }
  }
  if (tiling.row_axis < 0) return;
  const int64_t blocks =
      tiling.vector_axis < 0
          ? 1
          : (extent_or(stage.extents[static_cast<size_t>(tiling.vector_axis)], 64) + tiling.lanes -
             1) /
                tiling.lanes;
  // Memory is rounded up to whole vectors only, so an extent that is not known takes one at a time.
  const bool known =
      tiling.vector_axis >= 0 && ir::as_int(stage.extents[static_cast<size_t>(tiling.vector_axis)]);
  const int max_vectors = known && tiling.pattern == "contraction" ? caps.tile_vectors : 1;
  const Tile single = best_tile(best_extent, blocks, max_vectors, caps);
  tiling.rows = single.rows;
  tiling.vectors = single.vectors;
  // Short rows (7, 14) leave much past the edge: with the axis before them they make one long row.
  const int outer = tiling.row_axis - 1;
  if (!caps.join_rows || tiling.pattern != "contraction" || outer < 0 ||
      outer == tiling.vector_axis)
    return;
  const auto inner_extent = ir::as_int(stage.extents[static_cast<size_t>(tiling.row_axis)]);
  const auto outer_extent = ir::as_int(stage.extents[static_cast<size_t>(outer)]);
  const bool stands = std::ranges::any_of(terms, [&](const ir::Load* load) {
    return !moves(*load, stage.axes[static_cast<size_t>(outer)]) &&
           !moves(*load, stage.axes[static_cast<size_t>(tiling.row_axis)]);
  });
  if (!inner_extent || !outer_extent || *outer_extent < 2 || !stands) return;
  const Tile joined = best_tile(*inner_extent * *outer_extent, blocks, max_vectors, caps);
  if (joined.cost * 1.04 < single.cost * static_cast<double>(*outer_extent)) {
    tiling.joined_axis = outer;
    tiling.rows = joined.rows;
    tiling.vectors = joined.vectors;
  }
}

void choose_reduction(const Stage& stage, const Capabilities& caps, Tiling& tiling) {
  const ir::Bounds bounds = bounds_of(stage);
  for (const ir::Load* load : loads_of(stage.values)) {
    for (size_t r = 0; r < stage.reduce_axes.size() && tiling.reduce_split < 0; ++r) {
      const ir::Layout& layout = load->buffer->layout;
      const bool contiguous = along(*load, layout, stage.reduce_axes[r], caps.vector_lanes,
                                    bounds) == Along::contiguous;
      // Constants were packed to follow the other operand: only the latter decides.
      const bool packed =
          is_blocked(layout) && layout.layers == 1 && layout.axes.size() > load->indices.size() + 1;
      if (contiguous && !packed && extent_or(stage.reduce_extents[r], 64) >= caps.vector_lanes) {
        tiling.reduce_split = static_cast<int>(r);
      }
    }
  }
  tiling.unroll = caps.unroll;
  if (tiling.reduce_split >= 0 && tiling.lanes == 1 && tiling.rows == 1 &&
      ir::as_int(stage.reduce_extents[static_cast<size_t>(tiling.reduce_split)])) {
    tiling.reduce_lanes = caps.vector_lanes;
  }
}

}  // namespace

std::string to_string(const Tiling& t) {
  std::string text = cat(t.pattern, " vector axis ", t.vector_axis, " x", t.lanes);
  if (t.vectors > 1) text += cat(" by ", t.vectors);
  if (t.row_axis >= 0) text += cat(", rows ", t.rows, " along axis ", t.row_axis);
  if (t.joined_axis >= 0) text += cat(" joined with ", t.joined_axis);
  if (t.reduce_split >= 0)
    text += cat(", reduction axis ", t.reduce_split, " in blocks of ", t.lanes);
  if (t.reduce_lanes > 1) text += cat(", partial results x", t.reduce_lanes);
  if (t.unroll > 1) text += cat(", unroll ", t.unroll);
  if (t.group_size > 1) text += cat(", group ", t.group_size);
  return text;
}

Tiling default_tiling(const Stage& stage, const Capabilities& caps) {
  Tiling tiling;
  if (stage.kind == StageKind::scatter) {
    tiling.pattern = "scatter";
    return tiling;
  }
  tiling.pattern = "map";
  tiling.group_size = caps.group_size;
  choose_vector(stage, caps, tiling);
  tiling.rows = stage.output->layout.layers;
  if (stage.kind != StageKind::reduce) {
    tiling.chunk = caps.map_chunk;
    return tiling;
  }
  const auto terms = loads_of(stage.values);
  const bool reuse = std::ranges::all_of(terms, [&](const ir::Load* load) {
    return std::ranges::any_of(stage.axes, [&](const ir::Var& a) {
      return extent_or(stage.extents[static_cast<size_t>(&a - stage.axes.data())], 2) > 1 &&
             !moves(*load, a);
    });
  });
  tiling.pattern = terms.size() < 2                   ? "reduce"
                   : reuse && stage.combiner.is_sum() ? "contraction"
                                                      : "window";
  if (!caps.texture_memory && (tiling.pattern != "reduce" || stage.reduce_axes.size() > 1))
    choose_rows(stage, caps, tiling);
  choose_reduction(stage, caps, tiling);
  return tiling;
}

Scheduled schedule_default(const Stage& stage, const Capabilities& capabilities) {
  const Tiling tiling = default_tiling(stage, capabilities);
  return {lower(stage, tiling, capabilities), tiling};
}

}  // namespace gossamer::schedule
