#include "autoschedule/tiling_decoded.h"

#include <algorithm>
#include <utility>

#include "autoschedule/tiling_parts.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/access.h"
#include "stages/factors.h"
#include "stages/group.h"
#include "target/costs.h"

namespace gossamer::autoschedule {
namespace {

using ir::Expr;
using schedule::List;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

// Whether the bytes that a factor is decoded from are neighbours along the reduction.
bool decodes_neighbours(const Stage& stage) {
  return std::ranges::all_of(loads_of(decoded_factor(stage)), [&](const ir::Load* load) {
    if (ir::byte_size(load->buffer->dtype) != 1) return true;
    const int dim =
        stages::vector_dim(load->buffer->layout, static_cast<int>(load->indices.size()));
    return dim >= 0 &&
           (!stages::moves(*load, stage.reduce_axes[0]) ||
            ir::uses(load->indices[static_cast<size_t>(dim)], stage.reduce_axes[0].get()));
  });
}

// A column's numbers of a few bits are neighbours along the reduction: an invocation takes a piece
// of them, for columns that share what it reads of the other factor. A piece of 32 numbers of 4
// bits is a load of 16 bytes, and has one scale in most models. Measured on an NVIDIA H200 with 1 x
// 2048 x 2048 to 1 x 2048 x 128256 and 1 x 8192 x 2048: pieces of 8 to 32, 2 to 8 columns, 32 to
// 128 parts.
std::optional<List> pieces_list(const Stage& stage, const Capabilities& caps, size_t column) {
  if (!decodes_neighbours(stage)) return std::nullopt;
  constexpr int longest_piece = 32, shortest_piece = 8;
  constexpr int64_t most_parts = 128, least_parts = 16, group = 64;
  const int64_t length = extent_or(stage.reduce_extents[0], 0);
  const int64_t columns = extent_or(stage.extents[column], 0);
  if (!caps.hardware || length < shortest_piece * least_parts || columns < 1) return std::nullopt;
  int piece = longest_piece;
  while (piece > shortest_piece && (length % piece != 0 || length < piece * least_parts))
    piece /= 2;
  // Parts that share the length without a rest, if there are enough.
  int64_t parts = std::min(most_parts, length / piece);
  for (int64_t fewer = parts; fewer >= least_parts; --fewer) {
    if (length % (fewer * piece) != 0) continue;
    parts = fewer;
    break;
  }
  // Neighbours have neighbouring pieces.
  List list{std::string(name_of(pattern_of(stage))), {}};
  add(list,
      "split(i$0, $1, $2, guard) -> i$0.tile, i$0.thread, row;"
      "split(k0, $3, $4, guard) -> k0.step, part, k0; rfactor(part);"
      "reorder(i$0.thread, part, k.., row); accumulate(k..); unroll(k.., $4); unroll(row)",
      column, std::max<int64_t>(group / parts, 1),
      columns >= 32768  ? 8
      : columns >= 1024 ? 4
                        : 2,
      parts, piece);
  bind_group(cat("i", column, ".thread, part"), list);
  return list;
}

// The reduction in blocks in which parts of the factor, such as a scale, stay the same.
void choose_blocks_of_factor(const Stage& stage, const Expr& factor, const Capabilities& caps,
                             Tiling& tiling) {
  constexpr int64_t most = 64;
  int64_t block = 1;
  ir::visit(factor, [&](const Expr& e) {
    const auto* quotient = ir::as<ir::Binary>(e);
    if (!quotient || quotient->op != ir::BinaryOp::floordiv ||
        quotient->a.get() != stage.reduce_axes[0].get())
      return true;
    if (const auto by = ir::as_int(quotient->b)) block = std::max(block, std::min(*by, most));
    return true;
  });
  const int64_t length = extent_or(stage.reduce_extents[0], 0);
  const bool blocks = block > 1 && length >= block;
  tiling.reduce_axis = blocks ? 0 : -1;
  tiling.reduce_block = blocks ? static_cast<int>(block) : 1;
  tiling.partial = false;
  tiling.unroll = caps.unroll;
}

// Axes of rows whose extents only the run knows; none where it is no product of a decoded factor.
std::vector<size_t> open_rows(const Stage& stage) {
  std::vector<size_t> open;
  if (!rows_of_decoded(stage).get()) return open;
  const Expr factor = decoded_factor(stage);
  for (size_t i = 0; i < stage.axes.size(); ++i)
    if (!ir::uses(factor, stage.axes[i].get()) && !ir::as_int(stage.extents[i])) open.push_back(i);
  return open;
}

}  // namespace

void share_decoded(const Stage& stage, const Expr& rows, const Capabilities& caps, Tiling& tiling) {
  const int64_t most_bytes = caps.max_private_bytes;
  const Expr factor = decoded_factor(stage);
  if (tiling.vector_axis < 0 ||
      !ir::uses(factor, stage.axes[static_cast<size_t>(tiling.vector_axis)].get()))
    return;
  choose_blocks_of_factor(stage, factor, caps, tiling);
  const int64_t bytes = extent_or(stage.reduce_extents[0], most_bytes + 1) * tiling.vectors *
                        tiling.lanes * ir::byte_size(factor->type.dtype);
  const int64_t known = ir::as_int(rows).value_or(2 * tiling.rows);
  if (tiling.row_axis < 0 || tiling.joined_axis >= 0 || tiling.rows < 2 ||
      known < 2 * tiling.rows || bytes > most_bytes)
    return;
  tiling.cache = factor.same(factors_of(stage).a) ? 0 : 1;
}

size_t column_of_decoded(const Stage& stage) {
  const Expr factor = decoded_factor(stage);
  return static_cast<size_t>(
      std::ranges::find_if(stage.axes,
                           [&](const ir::Var& axis) { return ir::uses(factor, axis.get()); }) -
      stage.axes.begin());
}

Expr rows_of_decoded(const Stage& stage) {
  if (stage.kind != StageKind::reduce || stage.in_order || stage.reduce_axes.size() != 1) return {};
  const Expr factor = decoded_factor(stage);
  if (!factor.get()) return {};
  Expr rows = ir::index(1);
  int columns = 0;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (ir::uses(factor, stage.axes[i].get())) {
      ++columns;
    } else {
      rows = rows * stage.extents[i];
    }
  }
  return columns == 1 ? ir::simplify(rows) : Expr();
}

int64_t few_rows(const Capabilities& caps) { return caps.group_size > 1 ? 8 : 1; }

std::optional<List> list_for_few_rows(const Stage& stage, const Capabilities& caps) {
  if (caps.texture_memory || !rows_of_decoded(stage).get()) return std::nullopt;
  const size_t column = column_of_decoded(stage);
  if (caps.group_size > 1) return pieces_list(stage, caps, column);
  const Vector vector = vector_of(stage, caps);
  if (vector.axis != static_cast<int>(column)) return std::nullopt;
  Tiling tiling;
  tiling.pattern = pattern_of(stage);
  tiling.vector_axis = vector.axis;
  tiling.lanes = vector.lanes;
  choose_blocks_of_factor(stage, decoded_factor(stage), caps, tiling);
  const int64_t columns = extent_at(stage, vector.axis);
  tiling.vectors = costs_of(caps).sums / 2;  // a factor's parts take the other registers
  if (const int longer = caps.byte_lanes;
      longer > 0 && columns % longer == 0 && longer > tiling.lanes) {
    tiling.vectors = std::max(1, tiling.vectors * tiling.lanes / longer);
    tiling.lanes = longer;
  }
  const int64_t blocks = (columns + tiling.lanes - 1) / tiling.lanes;
  while (tiling.vectors > 1 &&
         (blocks % tiling.vectors != 0 || blocks / tiling.vectors < costs_of(caps).least_sums))
    tiling.vectors /= 2;
  return register_list(stage, tiling, caps);
}

std::optional<List> list_for_many_rows(const Stage& stage, const Capabilities& caps) {
  constexpr int64_t many = 1024;
  if (!caps.hardware || !rows_of_decoded(stage).get()) return std::nullopt;
  Stage known = stage;
  const Expr factor = decoded_factor(stage);
  int64_t rows = many;
  for (size_t i = stage.axes.size(); i-- > 0;) {
    if (ir::uses(factor, stage.axes[i].get()) || ir::as_int(stage.extents[i])) continue;
    known.extents[i] = ir::index(std::exchange(rows, 1));
  }
  auto list = group_tile_list(known, caps);
  return list == default_list(stage, caps) ? std::nullopt : list;
}

std::optional<List> list_for_samples(const Stage& stage, const Capabilities& caps) {
  if (caps.group_size > 1 || caps.texture_memory) return std::nullopt;
  const std::vector<size_t> open = open_rows(stage);
  if (open.size() != 2) return std::nullopt;
  Stage known = stage;
  known.extents[open[1]] = ir::index(1);
  const Tiling tiling = default_tiling(known, caps);
  if (tiling.row_axis != static_cast<int>(open[0])) return std::nullopt;
  return register_list(stage, tiling, caps);
}

Expr has_more_samples(const Stage& stage) {
  const std::vector<size_t> open = open_rows(stage);
  return stages::is_more(stage.extents[open[0]] - stage.extents[open[1]], 0);
}

}  // namespace gossamer::autoschedule
