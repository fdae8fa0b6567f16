#include "autoschedule/tiling.h"
#include "stages/pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "autoschedule/tiling_decoded.h"
#include "autoschedule/tiling_parts.h"
#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "schedule/apply.h"
#include "stages/access.h"
#include "stages/factors.h"
#include "target/costs.h"

namespace gossamer::autoschedule {
namespace {

using ir::Expr;
using stages::Along;
using stages::Factors;
using stages::Pattern;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;
using target::Costs;

// Whether vectors along an axis would gather what lies along a reduction's own axis (sums of rows).
bool rows_are_contiguous(const Stage& stage, int dim, const Capabilities& caps) {
  if (stage.kind != StageKind::reduce || stage.in_order) return false;
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  const auto loads = loads_of(stage.values);
  const auto runs_along_reduction = [&](const ir::Load* load) {
    const auto moves_along = [&](const ir::Var& axis) {
      return stages::along(*load, load->buffer->layout, axis, caps.vector_lanes, bounds);
    };
    if (moves_along(stage.axes[static_cast<size_t>(dim)]) != Along::gather) return false;
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r) {
      const int64_t extent = extent_or(stage.reduce_extents[r], 0);
      if (extent >= caps.vector_lanes && moves_along(stage.reduce_axes[r]) == Along::contiguous)
        return true;
    }
    return false;
  };
  return !loads.empty() && std::ranges::all_of(loads, runs_along_reduction);
}

// Lanes of a reduction along the last axis of a plain tensor, where it is no multiple of a vector:
// the last vector starts early enough to end at the end. 0: operands do not lie along it.
int lanes_of_rows(const Stage& stage, int dim, const Capabilities& caps) {
  constexpr int64_t least = 4;
  const auto axis = static_cast<size_t>(dim);
  const int64_t extent = extent_or(stage.extents[axis], caps.vector_lanes);
  if (stage.kind != StageKind::reduce || stage.in_order || !stage.starts.empty() ||
      !caps.is_vector_unit() || extent < least)
    return 0;
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  bool moves_along = false;
  for (const ir::Load* load : loads_of(stage.values)) {
    const Along lies = stages::along(*load, load->buffer->layout, stage.axes[axis],
                                     caps.vector_lanes, bounds, true);
    if (lies == Along::gather) return 0;
    moves_along |= lies != Along::still;
  }
  const auto most = static_cast<int>(std::bit_floor(static_cast<uint64_t>(extent)));
  return moves_along ? std::min(caps.vector_lanes, most) : 0;
}

struct RegisterTile {
  int rows = 1, vectors = 1;
  double cost = 1e30;
};

int64_t vector_bytes(const Capabilities& caps) {
  return int64_t{caps.vector_lanes} * ir::byte_size(ir::DType::f32);
}

// The register tile for `extent` rows of `blocks` vectors that costs least: its multiplications,
// its loads, what lies past the edge, and processors that have no tile of the `others` times so
// many. Where a run tells the extent (`open`), half a tile lies past the edge of a short one.
// `steps`: of the reduction, in each of which a tile loads its vectors of an operand that all rows
// share.
RegisterTile best_tile(int64_t extent, bool open, int64_t blocks, int64_t others, int64_t steps,
                       int max_vectors, int max_rows, const Capabilities& caps) {
  constexpr double short_extent = 32;
  const Costs& costs = costs_of(caps);
  RegisterTile best;
  for (int vectors = 1; vectors <= max_vectors; ++vectors) {
    if (blocks % vectors != 0) continue;
    for (int rows = 1; rows <= max_rows && rows <= extent; ++rows) {
      if (rows * vectors + vectors + 1 > caps.vector_registers) continue;
      const int64_t across = (extent + rows - 1) / rows, along = blocks / vectors;
      const double waste = 1 + (rows - 1) / (2 * short_extent);
      const double tiles = open ? static_cast<double>(extent * along) / rows * waste
                                : static_cast<double>(across * along);
      const double idle =
          std::max(1.0, static_cast<double>(costs.tiles) / (tiles * static_cast<double>(others)));
      const bool far = steps * vectors * vector_bytes(caps) > costs.near_bytes;
      const double loads = costs.operand * (rows + vectors) + (far ? costs.far * vectors : 0);
      const double cost = idle * tiles * (rows * vectors + loads + costs.tile);
      if (cost < best.cost) best = {rows, vectors, cost};
    }
  }
  return best;
}

// Whether an operand stands still along the axis, so that rows along it share what they load of it.
bool reuses(const std::vector<const ir::Load*>& terms, const ir::Var& axis) {
  return std::ranges::any_of(terms,
                             [&](const ir::Load* load) { return !stages::moves(*load, axis); });
}

bool has_rows(const Stage& stage, int vector_axis) {
  const auto terms = loads_of(stage.values);
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (static_cast<int>(i) != vector_axis && extent_or(stage.extents[i], 64) > 1 &&
        reuses(terms, stage.axes[i]))
      return true;
  }
  return false;
}

// Whether a row of the output is so many whole vectors, in memory at least.
bool pads_vectors(const Stage& stage, const Tiling& tiling) {
  const auto extent = ir::as_int(stage.extents[static_cast<size_t>(tiling.vector_axis)]);
  return extent && (stages::is_blocked(stage.output->layout) || *extent % tiling.lanes == 0);
}

// Whether the kernel has forms for runs of fewer columns than a tile (lower.cc).
bool ends_in_forms(const Stage& stage, int vector_axis, const Capabilities& caps) {
  return caps.is_vector_unit() && !ir::as_int(stage.extents[static_cast<size_t>(vector_axis)]) &&
         !stages::is_blocked(stage.output->layout);
}

// The factor of a product's columns (0: the left one), which work items copy in the order of the
// steps, for one tile of columns after the other: its rows lie far apart, and a copy pays where so
// many `rows` share it. Where only a run tells the columns, runs with many rows do so. -1: neither.
int copied_factor(const Stage& stage, const Capabilities& caps, const Tiling& tiling,
                  std::optional<int64_t> rows) {
  if (!caps.is_vector_unit() || tiling.pattern != Pattern::contraction || tiling.vector_axis < 0 ||
      stage.reduce_axes.size() != 1)
    return -1;
  const Factors factors = factors_of(stage);
  if (!factors.a.get()) return -1;
  const auto moves_along = [&](const Expr& factor, int axis) {
    return ir::uses(factor, stage.axes[static_cast<size_t>(axis)].get());
  };
  const bool second = moves_along(factors.b, tiling.vector_axis);
  const Expr& factor = second ? factors.b : factors.a;
  if (moves_along(factor, tiling.row_axis) || ir::byte_size(factor->type.dtype) != 4) return -1;
  const int64_t steps = extent_or(stage.reduce_extents[0], 0);
  if (steps * vector_bytes(caps) > caps.max_private_bytes) return -1;
  const Costs& costs = costs_of(caps);
  const auto columns = ir::as_int(stage.extents[static_cast<size_t>(tiling.vector_axis)]);
  const bool pays =
      columns ? rows && *rows >= costs.far_rows && *columns * steps >= costs.far_elements &&
                    std::ranges::none_of(
                        ir::loads_of({factor}),
                        [](const auto* load) { return stages::is_blocked(load->buffer->layout); })
              : !rows && ends_in_forms(stage, tiling.vector_axis, caps);
  return !pays ? -1 : second ? 1 : 0;
}

// Rows reuse the operand that moves along the vectors: an axis along which some operand stands
// still.
void choose_rows(const Stage& stage, const Capabilities& caps, Tiling& tiling) {
  const auto terms = loads_of(stage.values);
  int64_t best_extent = 1;
  for (int i = static_cast<int>(stage.axes.size()) - 1; i >= 0; --i) {
    if (i == tiling.vector_axis) continue;
    if (extent_or(stage.extents[static_cast<size_t>(i)], 2) < 2 ||
        !reuses(terms, stage.axes[static_cast<size_t>(i)]))
      continue;
    const int64_t extent = extent_at(stage, i);
    if (tiling.row_axis < 0 || (best_extent < 4 && extent > best_extent)) {
      tiling.row_axis = i;
      best_extent = extent;
    }
  }
  if (tiling.row_axis < 0) return;
  const auto row_extent = ir::as_int(stage.extents[static_cast<size_t>(tiling.row_axis)]);
  const bool open = !row_extent;
  if (open) best_extent = 64;  // a batch may be large, although it is likely to be 1
  const int64_t blocks =
      tiling.vector_axis < 0
          ? 1
          : (extent_or(stage.extents[static_cast<size_t>(tiling.vector_axis)], 64) + tiling.lanes -
             1) /
                tiling.lanes;
  // Padded memory is rounded up to whole vectors only, so an extent that is not known takes one at
  // a time there.
  const bool whole = tiling.vector_axis >= 0 && (pads_vectors(stage, tiling) ||
                                                 ends_in_forms(stage, tiling.vector_axis, caps));
  const int max_vectors = whole && tiling.pattern == Pattern::contraction ? caps.tile_vectors : 1;
  int64_t others = 1;
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i)
    others *= i == tiling.row_axis || i == tiling.vector_axis ? 1 : extent_at(stage, i);
  const bool products = stage.values[0]->kind == ir::NodeKind::Dot && caps.product_rows > 0;
  const int max_rows = products ? caps.product_rows : caps.tile_rows;
  int64_t steps = 1;
  for (const Expr& extent : stage.reduce_extents) steps *= extent_or(extent, 64);
  const auto choose = [&](std::optional<int64_t> rows, int64_t other_tiles) {
    const int copied = copied_factor(stage, caps, tiling, rows);
    const int64_t most =
        copied < 0
            ? max_vectors
            : std::min<int64_t>(max_vectors, caps.max_private_bytes / (steps * vector_bytes(caps)));
    const RegisterTile tile = best_tile(rows.value_or(best_extent), !rows, blocks, other_tiles,
                                        steps, static_cast<int>(most), max_rows, caps);
    return std::pair(tile, tile.rows > 1 ? copied : -1);
  };
  const auto use = [&](const std::pair<RegisterTile, int>& chosen) {
    constexpr int row_tiles = 32;
    tiling.rows = chosen.first.rows;
    tiling.vectors = chosen.first.vectors;
    tiling.cache = chosen.second;
    tiling.row_tiles = tiling.cache < 0 ? 1 : row_tiles;
  };
  const auto single = choose(row_extent, others);
  use(single);
  // Short rows (7, 14) leave much past the edge: with the axis before them they make one long row.
  const int outer = tiling.row_axis - 1;
  if (!caps.join_rows || tiling.pattern != Pattern::contraction || outer < 0 ||
      outer == tiling.vector_axis)
    return;
  const auto outer_extent = ir::as_int(stage.extents[static_cast<size_t>(outer)]);
  const bool stands = std::ranges::any_of(terms, [&](const ir::Load* load) {
    return !stages::moves(*load, stage.axes[static_cast<size_t>(outer)]) &&
           !stages::moves(*load, stage.axes[static_cast<size_t>(tiling.row_axis)]);
  });
  if (!row_extent || !outer_extent || *outer_extent < 2 || !stands) return;
  const auto joined = choose(*row_extent * *outer_extent, others / *outer_extent);
  if (joined.first.cost * costs_of(caps).join <
      single.first.cost * static_cast<double>(*outer_extent)) {
    tiling.joined_axis = outer;
    use(joined);
  }
}

// Whether rows of a tile and unrolled steps of the reduction would read the same elements.
// Compilers then load each once and hold all of them, for which a large tile leaves no registers.
bool slides(const Stage& stage, const Capabilities& caps, const Tiling& tiling) {
  if (tiling.pattern != Pattern::contraction || tiling.reduce_axis >= 0 || tiling.rows == 1 ||
      !caps.is_vector_unit())
    return false;
  const ir::VarNode* row = stage.axes[static_cast<size_t>(tiling.row_axis)].get();
  const ir::VarNode* step = stage.reduce_axes.back().get();
  return std::ranges::any_of(loads_of(stage.values), [&](const ir::Load* load) {
    return std::ranges::any_of(load->indices, [&](const Expr& index) {
      return ir::uses(index, row) && ir::uses(index, step);
    });
  });
}

// Where a cache does not keep a packed operand of the columns from one tile of rows to the next,
// one tile of columns after the other is read once. Narrow tiles would read the rows too often.
void choose_order(const Stage& stage, const Capabilities& caps, Tiling& tiling) {
  constexpr int least_columns = 16;
  if (!caps.is_vector_unit() || tiling.pattern != Pattern::contraction || tiling.rows == 1 ||
      tiling.row_axis < 0 || tiling.vector_axis < tiling.row_axis ||
      tiling.lanes * tiling.vectors < least_columns)
    return;
  const auto column = static_cast<size_t>(tiling.vector_axis);
  int64_t bytes = ir::byte_size(ir::DType::f32) * extent_or(stage.extents[column], 0);
  for (const Expr& extent : stage.reduce_extents) bytes *= extent_or(extent, 0);
  tiling.rows_inside = bytes > costs_of(caps).kept_bytes &&
                       std::ranges::all_of(loads_of(stage.values), [&](const ir::Load* load) {
                         return !stages::moves(*load, stage.axes[column]) ||
                                stages::is_blocked(load->buffer->layout);
                       });
}

// The axis that an operand is contiguous along is walked in blocks of a vector.
void choose_reduction(const Stage& stage, const Capabilities& caps, Tiling& tiling) {
  const ir::Bounds bounds = stages::bounds_of_terms(stage);
  if (stage.in_order) return;
  constexpr int least_lanes = 4;
  const bool alone = caps.group_size == 1 && tiling.lanes == 1 && tiling.rows == 1;
  for (const ir::Load* load : loads_of(stage.values)) {
    for (size_t r = 0; r < stage.reduce_axes.size() && tiling.reduce_axis < 0; ++r) {
      const ir::Layout& layout = load->buffer->layout;
      // If nothing else of a sum lies in vectors, a short axis within a block does.
      int lanes = caps.vector_lanes;
      const int64_t extent = extent_or(stage.reduce_extents[r], 64);
      while (alone && stages::is_blocked(layout) && lanes > least_lanes && extent < lanes)
        lanes /= 2;
      const bool contiguous =
          stages::along(*load, layout, stage.reduce_axes[r], lanes, bounds) == Along::contiguous;
      // Constants were packed to follow the other operand: only the latter decides.
      const bool packed = stages::is_blocked(layout) && layout.layers == 1 &&
                          layout.axes.size() > load->indices.size() + 1;
      const int block = lanes / elements_of_word(stage, stage.reduce_axes[r]);
      if (contiguous && !packed && extent >= block) {
        tiling.reduce_axis = static_cast<int>(r);
        tiling.reduce_block = block;
      }
    }
  }
  tiling.unroll = slides(stage, caps, tiling) ? 1 : caps.unroll;
  if (tiling.reduce_axis < 0) return;
  tiling.partial = tiling.lanes == 1 && tiling.rows == 1;
}

// A small window that slides along vectors is computed in one straight piece, so that a tile's rows
// share what they read. Few rows suffice for that, and a window's vectors take registers, too.
void choose_window(const Stage& stage, const Capabilities& caps, Tiling& tiling) {
  constexpr int64_t most_steps = 25, most_products = 128;
  int64_t steps = 1;
  for (const Expr& extent : stage.reduce_extents) steps *= extent_or(extent, most_steps + 1);
  if (tiling.pattern != Pattern::window || tiling.reduce_axis >= 0 || caps.group_size > 1 ||
      caps.texture_memory || tiling.row_axis < 0 || tiling.vector_axis < 0 ||
      stages::is_blocked(stage.output->layout) || steps < 2 || steps > most_steps)
    return;
  tiling.unroll = static_cast<int>(steps);
  const int64_t extent = extent_at(stage, tiling.row_axis);
  const auto most = static_cast<int>(std::min({int64_t{8}, extent, most_products / steps}));
  const auto computed = [&](int rows) { return (extent + rows - 1) / rows * rows; };
  tiling.rows = most;
  for (int rows = most; rows > most / 2; --rows) {
    if (computed(rows) < computed(tiling.rows)) tiling.rows = rows;
  }
}

}  // namespace

int64_t extent_or(const Expr& e, int64_t fallback) { return ir::as_int(e).value_or(fallback); }

int64_t extent_at(const Stage& stage, int axis) {
  return axis < 0 ? 1
                  : std::max<int64_t>(ir::estimate(stage.extents[static_cast<size_t>(axis)]), 1);
}

Vector vector_of(const Stage& stage, const Capabilities& caps) {
  const ir::Layout& layout = stage.output->layout;
  const int rank = static_cast<int>(stage.output->shape.size());
  // A texel of a port: four points in row-major order. A scalar is one point, held by all four.
  if (layout.flat) return {-1, rank == 0 ? 1 : 4};
  if (rank == 0) return {};
  const int dim = stages::vector_dim(layout, rank);
  const bool whole =
      stages::is_blocked(layout) ||
      extent_or(stage.output->shape[static_cast<size_t>(dim)], 1) % caps.vector_lanes == 0;
  const bool carried = stage.kind == StageKind::scan && dim == static_cast<int>(stage.along);
  if (!whole && !carried) {
    if (const int lanes = lanes_of_rows(stage, dim, caps); lanes > 0) return {dim, lanes};
  }
  if ((!whole && !schedule::skips_lanes(stage, dim, caps)) || carried) return {};
  if (!stages::is_blocked(layout) && rows_are_contiguous(stage, dim, caps)) return {};
  // Where lanes would be guarded, points that share what they read are computed one by one instead.
  if (caps.group_size == 1 && !whole && runs_of(stage)[static_cast<size_t>(dim)] > 1) return {};
  return {dim, caps.is_vector_unit()
                   ? lanes_of_runs(stage, stage.axes[static_cast<size_t>(dim)], caps.vector_lanes)
                   : caps.vector_lanes};
}

int vectors_without_rows(const Stage& stage, int vector_axis, const Capabilities& caps) {
  if (vector_axis < 0 || caps.texture_memory || stage.in_order || has_rows(stage, vector_axis))
    return 1;
  const auto columns = ir::as_int(stage.extents[static_cast<size_t>(vector_axis)]);
  if (!columns || (!stages::is_blocked(stage.output->layout) && *columns % caps.vector_lanes != 0))
    return 1;
  const Costs& costs = costs_of(caps);
  const int64_t blocks = (*columns + caps.vector_lanes - 1) / caps.vector_lanes;
  int64_t others = 1;
  for (int i = 0; i < static_cast<int>(stage.axes.size()); ++i)
    others *= i == vector_axis ? 1 : extent_at(stage, i);
  const auto fits = [&](int vectors) {
    return blocks % vectors == 0 && others * (blocks / vectors) >= costs.least_sums &&
           std::ranges::all_of(loads_of(stage.values), [&](const ir::Load* load) {
             return !stages::moves(*load, stage.axes[static_cast<size_t>(vector_axis)]) ||
                    !stages::is_blocked(load->buffer->layout) ||
                    load->buffer->layout.axes.back().modulo % (vectors * caps.vector_lanes) == 0;
           });
  };
  int vectors = costs.sums / static_cast<int>(stage.values.size());
  while (vectors > 1 && !fits(vectors)) --vectors;
  return std::max(vectors, 1);
}

Tiling default_tiling(const Stage& stage, const Capabilities& caps) {
  Tiling tiling;
  tiling.pattern = pattern_of(stage);
  const Vector vector = vector_of(stage, caps);
  tiling.vector_axis = vector.axis;
  tiling.lanes = vector.lanes;
  tiling.rows = stage.output->layout.layers;
  if (!caps.texture_memory && (tiling.pattern != Pattern::reduce || stage.reduce_axes.size() > 1))
    choose_rows(stage, caps, tiling);
  choose_order(stage, caps, tiling);
  choose_reduction(stage, caps, tiling);
  choose_window(stage, caps, tiling);
  if (tiling.rows == 1) tiling.vectors = vectors_without_rows(stage, tiling.vector_axis, caps);
  if (const Expr rows = rows_of_decoded(stage); rows.get() && caps.is_vector_unit())
    share_decoded(stage, rows, caps, tiling);
  return tiling;
}

}  // namespace gossamer::autoschedule
