// The stages over one tile of queries and keys on CPUs. Lanes are
// neighbouring queries where scores are computed and weighted, so that a row's maximum and total
// need no joined lanes, and neighbouring columns where values are summed.
#include <algorithm>
#include <iterator>

#include "ir/build.h"
#include "ir/estimate.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "online/online_parts.h"
#include "stages/access.h"

namespace gossamer::online {
namespace {

using ir::Expr;
using stages::Along;
using stages::Group;
using stages::Stage;
using stages::StageKind;
using target::Capabilities;

constexpr int64_t least_lanes = 4, most_width = 256, most_part = 8;
constexpr int64_t some_keys = 48, least_keys = 8, most_tile_bytes = 96 << 10;

// Whether some operand has neighbours along an axis.
bool lies_along(const Expr& operand, const ir::Var& axis, const Stage& last,
                const Capabilities& caps) {
  const ir::Bounds bounds = stages::bounds_of_terms(last);
  return std::ranges::any_of(loads_of(operand), [&](const ir::Load* load) {
    return stages::along(*load, load->buffer->layout, axis, caps.vector_lanes, bounds) ==
           Along::contiguous;
  });
}

// Numbers that a product reads where they are: a copy of a tile would cost more than it gains.
bool is_plain(const Expr& operand) {
  const auto* load = ir::as<ir::Load>(operand);
  return load && load->type.dtype == ir::DType::f32 && load->buffer->dtype == ir::DType::f32 &&
         std::ranges::all_of(load->indices, [](const Expr& e) { return loads_of(e).empty(); });
}

// Whether values of keys are neighbours: rows that lie far apart, as of several heads, would share
// few places of a cache.
bool is_dense(const Expr& value, const ir::Var& key, int64_t columns) {
  const auto* load = ir::as<ir::Load>(value);
  const size_t rank = load->indices.size();
  return rank >= 2 && !stages::is_blocked(load->buffer->layout) &&
         load->indices[rank - 2].get() == key.get() &&
         ir::is_const(load->buffer->shape[rank - 1], columns);
}

// Rows of scores in a register tile, whose vectors are two of queries.
int64_t part_for(const Capabilities& caps) {
  const int64_t most =
      std::min({most_part, int64_t{caps.tile_rows}, (int64_t{caps.vector_registers} - 3) / 2});
  return most > 1 ? most / 2 * 2 : 1;  // an odd number divides few lengths
}

// Private memory of all parts.
int64_t bytes_of(const OnlineTile& tile, int64_t width, int64_t columns) {
  constexpr int64_t numbers = 4;  // of a row: its maximum and total, among others
  return 4 *
         (tile.rows * (width + columns + 2 * tile.keys + numbers) + tile.keys * (width + columns));
}

ir::Buffer own(const char* name, std::vector<int64_t> extents) {
  std::vector<Expr> shape;
  for (const int64_t extent : extents) shape.push_back(ir::index(extent));
  return ir::buffer(name, ir::DType::f32, std::move(shape), ir::Scope::priv);
}

}  // namespace

int64_t lanes_along(int64_t extent, const Capabilities& caps) {
  int64_t lanes = caps.vector_lanes;
  while (lanes >= least_lanes && extent % lanes != 0) lanes /= 2;
  return lanes >= least_lanes ? lanes : 1;
}

OnlineTile vector_tile(const Group& group, const Capabilities& caps) {
  const Stage& last = group.last();
  const Online online = online_of(group);
  if (online.row < 0) return {};
  const int64_t columns = points_along(last, online.column);
  const int64_t width = ir::as_int(online.extent).value_or(0);
  const Expr& rows = last.extents[static_cast<size_t>(online.row)];
  const int64_t known_rows = ir::as_int(rows).value_or(0);
  if (caps.texture_memory || columns == 0 || columns > most_width || width == 0 ||
      width > most_width || lanes_along(columns, caps) == 1 ||
      (known_rows > 0 && known_rows <= caps.vector_lanes / 2))
    return {};
  const int64_t lanes = caps.vector_lanes;
  OnlineTile tile;
  const auto computed = [&](int64_t of) { return (known_rows + of - 1) / of * of; };
  // Two vectors of queries, or one where most of the second lies past the end.
  const bool one = known_rows > 0 && 8 * computed(lanes) < 7 * computed(2 * lanes);
  tile.rows = one ? lanes : 2 * lanes;
  tile.part = part_for(caps);
  int64_t keys = some_keys;
  if (const auto known = ir::as_int(last.reduce_extents[0]); known && *known > 0) {
    const int64_t tiles = (*known + keys - 1) / keys;
    keys = (*known + tiles - 1) / tiles;
  }
  tile.keys = (keys + tile.part - 1) / tile.part * tile.part;
  const int64_t most = std::min(most_tile_bytes, caps.max_private_bytes);
  while (tile.keys > tile.part && bytes_of(tile, width, columns) > most) tile.keys -= tile.part;
  if (tile.keys < std::min(least_keys, keys) ||
      bytes_of(tile, width, columns) > caps.max_private_bytes)
    return {};
  return tile;
}

OnlineTile narrow_tile(const Group& group, const Capabilities& caps) {
  const Stage& last = group.last();
  const Online online = online_of(group);
  const OnlineTile tile = vector_tile(group, caps);
  OnlineTile narrow = tile;
  narrow.rows = caps.vector_lanes;
  const int64_t columns = points_along(last, online.column), width = *ir::as_int(online.extent);
  const bool fits =
      bytes_of(tile, width, columns) + bytes_of(narrow, width, columns) <= caps.max_private_bytes;
  const bool open = points_along(last, online.row) == 0;
  return open && fits && narrow.rows < tile.rows ? narrow : OnlineTile{};
}

std::vector<Stage> vector_stages(const Group& group, const OnlineTile& tile,
                                 const Capabilities& caps) {
  const Online online = online_of(group);
  const Stage& last = group.last();
  const ir::Var first_row = last.axes[static_cast<size_t>(online.row)];
  const ir::Var first_key = last.reduce_axes[0];
  const Expr rows = last.extents[static_cast<size_t>(online.row)];
  const Expr keys = last.reduce_extents[0];
  const int64_t columns = points_along(last, online.column), width = *ir::as_int(online.extent);
  const ir::Var row = ir::var("row"), key = ir::var("key"), column = ir::var("column"),
                step = ir::var("step"), part = ir::var("part"), block = ir::var("block");
  // Where the number of rows is known, the last tile starts early enough to end at the end.
  const auto known_rows = ir::as_int(rows);
  const Expr each_row = known_rows && *known_rows >= tile.rows
                            ? first_row + row
                            : place_in(first_row, row, rows, tile.rows);
  const auto in_tile = [&](const Expr& expr, const Expr& each_key) {
    return ir::substitute(expr, {{first_row.get(), each_row},
                                 {first_key.get(), each_key},
                                 {online.along.get(), Expr(step)},
                                 {last.axes[static_cast<size_t>(online.column)].get(), column}});
  };
  const Expr own_key = first_key + key;
  // Keys past the end, whose scores nobody reads, are the last one.
  const auto held_inside = [&](const Expr& at) { return place_in(first_key, at, keys, tile.part); };
  const auto known_keys = ir::as_int(keys);
  const Expr count = known_keys && *known_keys % tile.keys == 0
                         ? ir::index(tile.keys)
                         : ir::simplify(ir::min(keys - first_key, ir::index(tile.keys)));
  const Expr parts = stages::ceil_div(count, tile.part);

  Stage queries = part_stage(StageKind::compute, "queries", {step, row},
                             {ir::index(width), ir::index(tile.rows)});
  queries.result = in_tile(online.left, own_key);
  queries.output = own("queries", {width, tile.rows});
  const bool turned = lies_along(online.right, first_key, last, caps);
  Stage right = turned
                    ? part_stage(StageKind::compute, "keys", {step, key}, {ir::index(width), count})
                    : part_stage(StageKind::compute, "keys", {key, step},
                                 {parts * ir::index(tile.part), ir::index(width)});
  right.result = in_tile(online.right, turned ? own_key : held_inside(key));
  right.output = turned ? own("keys", {width, tile.keys}) : own("keys", {tile.keys, width});
  Stage values =
      part_stage(StageKind::compute, "values", {key, column}, {count, ir::index(columns)});
  values.result = in_tile(online.value, own_key);
  values.output = own("values", {tile.keys, columns});

  const Expr each_key = Expr(block) * ir::index(tile.part) + part;
  const bool whole = known_keys && *known_keys % tile.part == 0;
  Stage scores = part_stage(StageKind::reduce, "scores", {block, part, row},
                            {parts, ir::index(tile.part), ir::index(tile.rows)});
  reduce_over(scores, step, ir::index(width), online.products, false);
  const Expr one_key = is_plain(online.right) && (whole || !turned)
                           ? in_tile(online.right, held_inside(each_key))
                           : ir::load(right.output, turned ? std::vector<Expr>{step, each_key}
                                                           : std::vector<Expr>{each_key, step});
  scores.values = {one_key * ir::load(queries.output, {step, row})};
  scores.result = where(is_inside(first_key, each_key, keys, tile.part),
                        in_tile(online.score, held_inside(each_key)), ir::lowest(ir::DType::f32));
  scores.output = own("scores", {tile.keys / tile.part, tile.part, tile.rows});
  // Parts are joined in pairs, which do not wait for each other.
  const auto joined = [&](const ir::Buffer& buffer, const auto& join) {
    std::vector<Expr> all;
    for (int64_t i = 0; i < tile.part; ++i)
      all.push_back(ir::load(buffer, {block, ir::index(i), row}));
    while (all.size() > 1) {
      std::vector<Expr> half;
      for (size_t i = 0; i + 1 < all.size(); i += 2) half.push_back(join(all[i], all[i + 1]));
      if (all.size() % 2 == 1) half.push_back(all.back());
      all = std::move(half);
    }
    return all[0];
  };

  const ir::Buffer top = own("top", {tile.rows});
  Stage peaks = part_stage(StageKind::reduce, "peaks", {row}, {ir::index(tile.rows)});
  reduce_over(peaks, block, parts, online.peak, true);
  peaks.values = {
      joined(scores.output, [](const Expr& a, const Expr& b) { return ir::select(a < b, b, a); })};
  peaks.result = ir::max(online.peak, ir::load(top, {row}));
  peaks.output = own("peaks", {tile.rows});

  const Expr shift = in_tile(online.shift, own_key), peak = ir::load(peaks.output, {row});
  Stage weights = part_stage(StageKind::compute, "weights", {block, part, row},
                             {parts, ir::index(tile.part), ir::index(tile.rows)});
  weights.result = weight_of(online, shift, ir::load(scores.output, {block, part, row}), peak);
  weights.output = own("weights", {tile.keys / tile.part, tile.part, tile.rows});
  const Expr weight = ir::load(weights.output, {ir::floordiv(key, ir::index(tile.part)),
                                                ir::floormod(key, ir::index(tile.part)), row});
  Stage scales = part_stage(StageKind::compute, "scales", {row}, {ir::index(tile.rows)});
  scales.result = weight_of(online, shift, ir::load(top, {row}), peak);
  scales.output = own("scales", {tile.rows});
  const Expr scale = ir::load(scales.output, {row});
  Stage tops = part_stage(StageKind::compute, "tops", {row}, {ir::index(tile.rows)});
  tops.result = peak;
  tops.output = top;

  Stage totals = part_stage(StageKind::reduce, "totals", {row}, {ir::index(tile.rows)});
  reduce_over(totals, block, parts, ir::var("acc", ir::DType::f32), false);
  totals.values = {joined(weights.output, [](const Expr& a, const Expr& b) { return a + b; })};
  totals.output = own("totals", {tile.rows});
  totals.result = ir::load(totals.output, {row}) * scale + totals.accumulators[0].left;

  Stage sums = part_stage(StageKind::reduce, "sums", {row, column},
                          {ir::index(tile.rows), ir::index(columns)});
  reduce_over(sums, key, count, online.sum, false);
  const bool reads =
      is_plain(online.value) &&
      lies_along(online.value, last.axes[static_cast<size_t>(online.column)], last, caps) &&
      is_dense(online.value, first_key, columns);
  sums.values = {weight * (reads ? values.result : ir::load(values.output, {key, column}))};
  sums.result = online.sum;
  sums.output = own("sums", {tile.rows, columns});
  sums.starts = {ir::load(sums.output, {row, column}) * scale};
  return {scores, peaks, scales, tops, weights, totals, sums, queries, right, values};
}

std::vector<Stage> vector_stages(const Group& group, const Capabilities& caps) {
  std::vector<Stage> stages = vector_stages(group, vector_tile(group, caps), caps);
  if (const OnlineTile narrow = narrow_tile(group, caps); narrow.keys > 0)
    std::ranges::move(vector_stages(group, narrow, caps), std::back_inserter(stages));
  return stages;
}

}  // namespace gossamer::online
