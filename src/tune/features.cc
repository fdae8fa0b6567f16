#include "tune/features.h"

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "schedule/access.h"

namespace gossamer::tune {
namespace {

using schedule::RowTiling;
using schedule::Tiling;

double extent_of(const ir::Expr& extent) {
  return static_cast<double>(ir::as_int(extent).value_or(64));
}

double product(const std::vector<ir::Expr>& extents) {
  double all = 1;
  for (const ir::Expr& extent : extents) all *= extent_of(extent);
  return all;
}

double at_axis(const ops::Stage& stage, int axis) {
  return axis < 0 ? 1 : extent_of(stage.extents[static_cast<size_t>(axis)]);
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

void add_group(const schedule::Group& group, Row& features) {
  const ops::Stage& stage = group.last();
  double bytes = 0, stored = 0, steps = 0;
  for (const ir::Buffer& buffer : inputs_of(group))
    bytes += product(buffer->shape) * ir::byte_size(buffer->storage);
  for (const ir::Buffer& buffer : outputs_of(group))
    stored += product(buffer->shape) * ir::byte_size(buffer->storage);
  for (const schedule::Member& member : group.members)
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

void add_tiling(const ops::Stage& stage, const Tiling& t, Row& features) {
  const double rows = at_axis(stage, t.row_axis) * at_axis(stage, t.joined_axis);
  const double columns = at_axis(stage, t.vector_axis);
  const double down = t.rows * t.group_rows, across = t.lanes * t.vectors * t.group_vectors;
  const double reduction =
      t.reduce_axis < 0 ? 1 : extent_of(stage.reduce_extents[static_cast<size_t>(t.reduce_axis)]);
  const double others = product(stage.extents) / std::max(rows * columns, 1.0);
  const double tiles = others * std::ceil(rows / down) * std::ceil(columns / across);
  const double invocations = t.group_rows * t.group_vectors * t.parts;
  for (double flag : {double(t.pattern == schedule::Pattern::contraction),
                      double(t.pattern == schedule::Pattern::map), double(t.reduce_axis >= 0),
                      double(t.joined_axis >= 0), double(t.ahead), double(t.partial)})
    features.plain(flag);
  for (double amount :
       {double(t.lanes), double(t.vectors), double(t.rows), double(t.unroll), double(t.group_size),
        double(t.group_rows), double(t.group_vectors), double(t.parts), double(t.part_vectors),
        double(t.reduce_block), double(t.chunk), rows, columns, reduction, down, across, tiles,
        invocations, tiles * invocations, product(stage.extents) / static_cast<double>(t.chunk),
        // Registers of a tile and its operands; words of both operands that a group holds.
        double(t.rows * t.vectors + t.rows + t.vectors), (down + across) * t.reduce_block * t.parts,
        // Multiplications for each operand that is loaded.
        double(t.rows * t.vectors) / double(t.rows + t.vectors), down * across / (down + across)})
    features.amount(amount);
  features.plain(used(rows, down));
  features.plain(used(columns, across));
  features.plain(used(reduction, double(t.reduce_block) * t.parts));
}

void add_rows(const schedule::Group& group, const RowTiling& t, Row& features) {
  double rows = 1;
  for (const schedule::RowAxis& axis : group.members.back().rows)
    rows *= at_axis(group.last(), axis.axis) / static_cast<double>(axis.quotient);
  const double columns = product(group.last().extents) / std::max(rows, 1.0);
  for (double amount :
       {double(t.row_lanes), double(t.column_lanes), double(t.threads), double(t.group_rows),
        double(t.unroll), rows, columns, rows / t.group_rows, double(t.threads) * t.group_rows})
    features.amount(amount);
  features.plain(used(rows, t.group_rows));
  features.plain(used(columns, double(t.threads) * t.column_lanes));
}

std::vector<float> of_point(const schedule::Group& group, const schedule::Point& point) {
  Row features;
  const auto* rows = std::get_if<RowTiling>(&point);
  features.plain(rows ? 1 : 0);
  add_tiling(group.last(), rows ? Tiling{} : std::get<Tiling>(point), features);
  add_rows(group, rows ? *rows : RowTiling{}, features);
  return features.take();
}

}  // namespace

Features::Features(const schedule::Group& group, const schedule::Point& start)
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
