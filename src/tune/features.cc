#include "tune/features.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/build.h"
#include "stages/access.h"

namespace gossamer::tune {
namespace {

using schedule::Call;
using schedule::Point;

double extent_of(const ir::Expr& extent) {
  return static_cast<double>(ir::as_int(extent).value_or(64));
}

double product(const std::vector<ir::Expr>& extents) {
  double all = 1;
  for (const ir::Expr& extent : extents) all *= extent_of(extent);
  return all;
}

double log2_of(double amount) { return std::log2(std::max(amount, 1.0)); }

// Of what is computed in whole pieces, the part that somebody wants.
double used(double extent, double piece) { return extent / (std::ceil(extent / piece) * piece); }

class Row {
 public:
  void amount(double value) { all_.push_back(static_cast<float>(log2_of(value))); }
  void plain(double value) { all_.push_back(static_cast<float>(value)); }
  std::vector<float> take() { return std::move(all_); }

 private:
  std::vector<float> all_;
};

void add_group(const stages::Group& group, Row& features) {
  const stages::Stage& stage = group.last();
  double bytes = 0, stored = 0, steps = 0;
  for (const ir::Buffer& buffer : inputs_of(group))
    bytes += product(buffer->shape) * ir::byte_size(buffer->storage);
  for (const ir::Buffer& buffer : outputs_of(group))
    stored += product(buffer->shape) * ir::byte_size(buffer->storage);
  for (const stages::Member& member : group.members)
    steps += product(member.stage.extents) * product(member.stage.reduce_extents);
  features.plain(static_cast<double>(group.members.size()));
  features.plain(static_cast<double>(inputs_of(group).size()));
  features.amount(bytes);
  features.amount(stored);
  features.amount(steps);
  features.amount(steps * 4 / std::max(bytes + stored, 1.0));
  features.amount(product(stage.extents));
  features.amount(product(stage.reduce_extents));
  for (size_t i = 0; i < 3; ++i)
    features.amount(i < stage.reduce_extents.size() ? extent_of(stage.reduce_extents[i]) : 1);
}

double number(std::string_view text) {
  return static_cast<double>(schedule::number_of(text).value_or(1));
}

// A list by the names of its loops. Factors of loops that it does not have are 1.
class Loops {
 public:
  explicit Loops(const schedule::List& list) : list_{list}, text_(to_string(list)) {}

  double operator[](std::string_view loop) const { return number(argument(loop, 0)); }
  // The factor after that of a loop, in the same call.
  double next(std::string_view loop) const { return number(argument(loop, 1)); }
  // What was split to make a loop.
  std::string_view whole(std::string_view loop) const {
    const auto places = places_of(list_, loop);
    return places.empty() ? "" : argument_at(list_, {places[0].list, places[0].call, 0});
  }
  // The limit of the first call of a word that has one.
  double limit(std::string_view word) const {
    for (const Call& call : list_[0].calls) {
      const auto at = limit_of(call);
      if (call.word == word && at) return number(call.arguments[*at]);
    }
    return 1;
  }
  // The axis of the reduction that is walked in blocks or shared out, if any is.
  std::string_view reduced() const {
    for (const Call& call : list_[0].calls) {
      const std::string_view first = call.made.empty() ? "" : std::string_view(call.made[0]);
      if (first.ends_with(".step") ||
          (first.ends_with(".block") && (call.made.size() > 2 || call.arguments[1] != "1")))
        return call.arguments[0];
    }
    return {};
  }
  bool says(std::string_view words) const { return text_.find(words) != text_.npos; }

 private:
  std::string_view argument(std::string_view loop, size_t later) const {
    const auto places = places_of(list_, loop);
    if (places.empty()) return {};
    return argument_at(list_, {places[0].list, places[0].call, places[0].argument + later});
  }

  Point list_;
  std::string text_;
};

void add_tiling(const stages::Stage& stage, const schedule::List& list, Row& features) {
  const Loops t(list);
  const bool staged = t.says("stage_in"), shared = t.says("rfactor(part)");
  const bool partial = t.says("rfactor(lane)") && t["lane"] > 1;
  const std::string_view along = t.reduced(), row_axis = t.whole("row");
  const double lanes = partial ? 1 : t["lane"], vectors = t["vec"], tile_rows = t["row"];
  const double group_rows = staged ? t.next("row") : 1;
  const double group_vectors = staged ? t.next("vec") : 1;
  const double parts = t["part"], part_vectors = shared && !staged ? t[".thread"] : 1;
  const double block = partial ? t["lane"] : shared ? t.next("part") : t[along];
  // A workgroup whose invocations share a tile has no size of its own.
  const double group_size = shared ? 64 : t["invocation"];
  const double unrolled = t.limit("unroll"), chunk = t.limit("fuse");
  const auto extent = [&](std::string_view loop) {
    return loop.empty() ? 1.0 : static_cast<double>(tune::extent_of(stage, loop));
  };
  const double rows = extent(row_axis), columns = partial ? 1 : extent(t.whole("lane"));
  const double down = tile_rows * group_rows, across = lanes * vectors * group_vectors;
  const double reduction = extent(along);
  const double others = product(stage.extents) / std::max(rows * columns, 1.0);
  const double tiles = others * std::ceil(rows / down) * std::ceil(columns / across);
  const double invocations = group_rows * group_vectors * parts;
  for (const bool flag : {list.pattern == "contraction", list.pattern == "map", !along.empty(),
                          row_axis.find('.') != row_axis.npos, t.says("ahead"), partial})
    features.plain(flag ? 1 : 0);
  for (double amount :
       {lanes, vectors, tile_rows, unrolled, group_size, group_rows, group_vectors, parts,
        part_vectors, block, chunk, rows, columns, reduction, down, across, tiles, invocations,
        tiles * invocations, product(stage.extents) / chunk,
        // Registers of a tile and its operands; words of both operands that a group holds.
        tile_rows * vectors + tile_rows + vectors, (down + across) * block * parts,
        // Multiplications for each operand that is loaded.
        tile_rows * vectors / (tile_rows + vectors), down * across / (down + across)})
    features.amount(amount);
  features.plain(used(rows, down));
  features.plain(used(columns, across));
  features.plain(used(reduction, block * parts));
}

void add_rows(const stages::Group& group, const Point& point, Row& features) {
  double rows = 1;
  for (const stages::RowAxis& axis : group.members.back().rows)
    rows *= extent_of(group.last().extents[static_cast<size_t>(axis.axis)]) /
            static_cast<double>(axis.quotient);
  const double columns = product(group.last().extents) / std::max(rows, 1.0);
  const Loops t(point[0].pattern == "rows" ? point.back() : schedule::List{});
  // Lanes lie along the last row axis, or along the last of the columns.
  const bool along_rows = t.says(".tile, lane");
  const double row_lanes = along_rows ? t["lane"] : 1, column_lanes = along_rows ? 1 : t["lane"];
  const double threads = t["thread"], group_rows = t["row"] * t["invocation"];
  const double unrolled = point[0].pattern == "rows" ? Loops(point[0]).limit("unroll") : 1;
  for (double amount : {row_lanes, column_lanes, threads, group_rows, unrolled, rows, columns,
                        rows / group_rows, threads * group_rows})
    features.amount(amount);
  features.plain(used(rows, group_rows));
  features.plain(used(columns, threads * column_lanes));
}

std::vector<float> of_point(const stages::Group& group, const Point& point) {
  Row features;
  const bool rows = point[0].pattern == "rows";
  features.plain(rows ? 1 : 0);
  add_tiling(group.last(), rows ? schedule::List{"map", {}} : point[0], features);
  add_rows(group, point, features);
  return features.take();
}

}  // namespace

std::optional<int> axis_of(std::string_view loop) {
  int axis = 0;
  if (loop.size() < 2 || (loop[0] != 'i' && loop[0] != 'k')) return std::nullopt;
  const auto [end, error] = std::from_chars(loop.data() + 1, loop.data() + loop.size(), axis);
  if (error != std::errc() || end != loop.data() + loop.size()) return std::nullopt;
  return axis;
}

int64_t extent_of(const stages::Stage& stage, std::string_view loop) {
  int64_t points = 1;
  for (const std::string_view part : schedule::pieces_of(loop, '.')) {
    const auto axis = axis_of(part);
    const auto& extents = part.starts_with('k') ? stage.reduce_extents : stage.extents;
    if (axis && static_cast<size_t>(*axis) < extents.size())
      points *= ir::as_int(extents[static_cast<size_t>(*axis)]).value_or(64);
  }
  return points;
}

Features::Features(const stages::Group& group, const schedule::Point& start)
    : group_(group), of_start_(of_point(group, start)) {
  Row row;
  add_group(group, row);
  of_group_ = row.take();
}

std::vector<float> Features::of(const schedule::Point& point) const {
  std::vector<float> features = of_group_;
  const std::vector<float> after = of_point(group_, point);
  features.insert(features.end(), after.begin(), after.end());
  // What is predicted is a ratio to the time at the default point.
  for (size_t at = 0; at < after.size(); ++at) features.push_back(after[at] - of_start_[at]);
  return features;
}

}  // namespace gossamer::tune
