// The stages over one tile of queries and keys on GPUs.
#include <algorithm>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "online/online_parts.h"

namespace gossamer::online {
namespace {

using ir::Expr;
using stages::Group;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

// Vectors of group memory: rows of scores begin in different banks.
constexpr int64_t padding = 4;
constexpr int64_t most_columns = 256, least_rows = 16, step = 16;
// Measured on an NVIDIA H100: from so many workgroups on, large tiles are faster than small ones,
// and scores of more bytes cost more than they save.
constexpr int64_t busy = 256, most_bytes = int64_t{128} << 20;

std::vector<Expr> numbers(const std::vector<int64_t>& extents) {
  std::vector<Expr> numbers;
  for (const int64_t extent : extents) numbers.push_back(ir::index(extent));
  return numbers;
}

Stage stage_of(StageKind kind, const char* name, std::vector<ir::Var> axes,
               const std::vector<int64_t>& extents) {
  return part_stage(kind, name, std::move(axes), numbers(extents));
}

ir::Buffer shared(const char* name, const std::vector<int64_t>& extents) {
  return ir::buffer(name, ir::DType::f32, numbers(extents), ir::Scope::group);
}

}  // namespace

int64_t points_along(const Stage& stage, int axis) {
  return ir::as_int(stage.extents[static_cast<size_t>(axis)]).value_or(0);
}

Stage part_stage(StageKind kind, const char* name, std::vector<ir::Var> axes,
                 std::vector<Expr> extents) {
  Stage stage;
  stage.kind = kind;
  stage.name = name;
  stage.axes = std::move(axes);
  stage.extents = std::move(extents);
  return stage;
}

void reduce_over(Stage& stage, const ir::Var& axis, const Expr& extent, const ir::Var& total,
                 bool maximum) {
  const ir::Var term = ir::var("term", ir::DType::f32);
  stage.reduce_axes = {axis};
  stage.reduce_extents = {extent};
  stage.accumulators = {{total, term,
                         maximum ? ir::select(total < term, term, total) : total + term,
                         maximum ? ir::lowest(ir::DType::f32) : ir::zero(ir::DType::f32)}};
}

Expr place_in(const Expr& first, const Expr& own, const Expr& extent, int64_t tile) {
  const Expr at = first + own;
  const auto known = ir::as_int(extent);
  return known && *known % tile == 0 ? at : ir::min(at, extent - ir::index(1));
}

Expr is_inside(const Expr& first, const Expr& own, const Expr& extent, int64_t tile) {
  const auto known = ir::as_int(extent);
  return known && *known % tile == 0 ? Expr() : Expr(first + own < extent);
}

Expr where(const Expr& inside, const Expr& value, const Expr& other) {
  return inside ? ir::select(inside, value, other) : value;
}

Expr weight_of(const Online& online, const Expr& shift, const Expr& score, const Expr& peak) {
  const Expr at = ir::substitute(shift, {{online.peak.get(), peak}});
  const Expr finite = ir::select(ir::is_inf(at), ir::zero(ir::DType::f32), at);
  return ir::substitute(online.weight,
                        {{online.of_score.get(), score}, {online.of_peak.get(), finite}});
}

OnlineTile online_tile(const Group& group, const Capabilities& caps) {
  if (caps.group_size == 1) return vector_tile(group, caps);
  const Stage& last = group.last();
  const Online online = online_of(group);
  const int64_t columns = points_along(last, online.column);
  if (caps.texture_memory || online.row < 0 || columns % step != 0 || columns > most_columns ||
      columns == 0 || ir::estimate(last.extents[static_cast<size_t>(online.row)]) < least_rows)
    return {};
  int64_t groups = 1;
  for (size_t i = 0; i < last.extents.size(); ++i) {
    const int64_t extent = std::max<int64_t>(ir::estimate(last.extents[i]), 1);
    const bool row = static_cast<int>(i) == online.row;
    if (static_cast<int>(i) != online.column) groups *= row ? (extent + 63) / 64 : extent;
  }
  const OnlineTile small{32, 32, 128};
  // Of wider sums, 64 invocations would have to hold too many.
  if (groups >= busy) return columns <= 64 ? OnlineTile{64, 32, 64} : small;
  // Few workgroups take longer than products that store their scores in whole vectors do.
  const int64_t keys = ir::as_int(last.reduce_extents[0]).value_or(0);
  const bool stores = keys > 0 && keys % gpu_lanes == 0 && groups * 64 * keys * 4 <= most_bytes;
  return stores ? OnlineTile{} : small;
}

std::vector<Stage> online_stages(const Group& group, const Capabilities& caps) {
  if (caps.group_size == 1) return vector_stages(group, caps);
  const Online online = online_of(group);
  const Stage& last = group.last();
  const OnlineTile tile = online_tile(group, caps);
  const ir::Var first_row = last.axes[static_cast<size_t>(online.row)];
  const ir::Var first_key = last.reduce_axes[0];
  const Expr rows = last.extents[static_cast<size_t>(online.row)];
  const Expr keys = last.reduce_extents[0];
  const int64_t columns = points_along(last, online.column);
  const ir::Var row = ir::var("row"), key = ir::var("key"), column = ir::var("column");
  const auto in_tile = [&](const Expr& expr) {
    return ir::substitute(expr, {{first_row.get(), place_in(first_row, row, rows, tile.rows)},
                                 {first_key.get(), place_in(first_key, key, keys, tile.keys)},
                                 {last.axes[static_cast<size_t>(online.column)].get(), column}});
  };
  const Expr inside = is_inside(first_key, key, keys, tile.keys);

  Stage scores = stage_of(StageKind::reduce, "scores", {row, key}, {tile.rows, tile.keys});
  reduce_over(scores, online.along, in_tile(online.extent), online.products, false);
  scores.values = {in_tile(online.left) * in_tile(online.right)};
  scores.result = where(inside, in_tile(online.score), ir::lowest(ir::DType::f32));
  scores.output = shared("scores", {tile.rows, tile.keys + padding});
  const Expr score = ir::load(scores.output, {row, key});

  const ir::Buffer top = shared("top", {tile.rows});
  Stage peaks = stage_of(StageKind::reduce, "peaks", {row}, {tile.rows});
  reduce_over(peaks, key, ir::index(tile.keys), online.peak, true);
  peaks.values = {score};
  peaks.result = ir::max(online.peak, ir::load(top, {row}));
  peaks.output = shared("peaks", {tile.rows});

  const Expr shift = in_tile(online.shift), peak = ir::load(peaks.output, {row});
  Stage weights = stage_of(StageKind::compute, "weights", {row, key}, {tile.rows, tile.keys});
  weights.result = weight_of(online, shift, score, peak);
  weights.output = scores.output;
  Stage scales = stage_of(StageKind::compute, "scales", {row}, {tile.rows});
  scales.result = weight_of(online, shift, ir::load(top, {row}), peak);
  scales.output = top;
  Stage tops = stage_of(StageKind::compute, "tops", {row}, {tile.rows});
  tops.result = ir::load(peaks.output, {row});
  tops.output = top;

  Stage totals = stage_of(StageKind::reduce, "totals", {row}, {tile.rows});
  reduce_over(totals, key, ir::index(tile.keys), ir::var("acc", ir::DType::f32), false);
  totals.values = {score};
  totals.output = shared("totals", {tile.rows});
  totals.result =
      ir::load(totals.output, {row}) * ir::load(top, {row}) + totals.accumulators[0].left;

  Stage sums = stage_of(StageKind::reduce, "sums", {row, column}, {tile.rows, columns});
  reduce_over(sums, key, ir::index(tile.keys), online.sum, false);
  const Expr value = in_tile(online.value);
  sums.values = {score * where(inside, value, ir::zero(value->type))};
  sums.result = online.sum;
  sums.output = shared("sums", {tile.rows, columns});
  return {scores, peaks, scales, tops, weights, totals, sums};
}

}  // namespace gossamer::online
