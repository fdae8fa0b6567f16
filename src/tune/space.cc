#include "tune/space.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ir/build.h"

namespace gossamer::tune {
namespace {

using schedule::Pattern;
using schedule::Point;
using schedule::RowTiling;
using schedule::Tiling;

std::vector<int64_t> up_to(int64_t last) {
  std::vector<int64_t> values;
  for (int64_t value = 1; value <= last; ++value) values.push_back(value);
  return values;
}

int64_t extent_of(const schedule::Group& group, int axis) {
  return ir::as_int(group.last().extents[static_cast<size_t>(axis)]).value_or(64);
}

size_t below(size_t count, Random& random) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

}  // namespace

Space::Space(const schedule::Group& group, const schedule::Capabilities& capabilities)
    : group_(group),
      caps_(capabilities),
      start_(schedule::default_point(group, capabilities)),
      features_(group, start_) {
  std::holds_alternative<RowTiling>(start_) ? of_rows() : of_tiles();
  std::erase_if(dimensions_, [](const Dimension& one) { return one.values.size() < 2; });
  for (const Dimension& one : dimensions_) size_ *= one.values.size();
}

void Space::of_rows() {
  const auto& start = std::get<RowTiling>(start_);
  dimensions_ = {{"unroll", {1, 2, 4, 8}}};
  if (start.row_lanes > 1) dimensions_.push_back({"row_lanes", {1, start.row_lanes}});
  if (start.column_lanes > 1) dimensions_.push_back({"column_lanes", {1, start.column_lanes}});
  if (caps_.group_size == 1) return;
  dimensions_.push_back({"group_rows", {1, 2, 4, 8, 16, 32, 64}});
  if (caps_.hardware) dimensions_.push_back({"threads", {1, 2, 4, 8, 16, 32, 64, 128, 256}});
}

void Space::of_tiles() {
  const auto& start = std::get<Tiling>(start_);
  const bool textures = group_.last().output->layout.memory == ir::Memory::texture;
  if (start.pattern == Pattern::scatter || textures) {
    dimensions_ = {{"unroll", {1, 2, 4, 8}}};
    return;
  }
  const bool gpu = caps_.group_size > 1;
  if (gpu && !is_grouped(start) && start.parts == 1)
    dimensions_ = {{"group_size", {32, 64, 128, 256}}};
  if (start.pattern == Pattern::map && !gpu)
    dimensions_ = {{"chunk", {1, 64, 256, 1024, 4096, 16384, 65536}}};
  if (start.pattern != Pattern::map && start.pattern != Pattern::scan) of_reduction();
}

void Space::of_reduction() {
  const auto& start = std::get<Tiling>(start_);
  const bool grouped = is_grouped(start);
  dimensions_.push_back({"unroll", {1, 2, 4, 8}});
  if (grouped) {
    dimensions_.push_back({"rows", {1, 2, 4, 8}});
    dimensions_.push_back({"vectors", {1, 2}});
    dimensions_.push_back({"group_rows", {1, 4, 8, 16, 32}});
    dimensions_.push_back({"group_vectors", {1, 4, 8, 16, 32}});
    dimensions_.push_back({"parts", {1, 2, 4, 8}});
    dimensions_.push_back({"reduce_block", {4, 8, 16, 32}});
    dimensions_.push_back({"ahead", {0, 1}});
    return;
  }
  if (start.parts > 1) {
    dimensions_.push_back({"parts", {1, 2, 4, 8, 16, 32, 64}});
    dimensions_.push_back({"part_vectors", {1, 2, 4, 8, 16, 32}});
    return;
  }
  if (start.row_axis >= 0) {
    int64_t extent = extent_of(group_, start.row_axis);
    const int outer = start.row_axis - 1;
    if (start.joined_axis >= 0) extent *= extent_of(group_, start.joined_axis);
    // Registers beyond the machine's are spilled, which now and then pays.
    dimensions_.push_back({"rows", up_to(std::min<int64_t>(extent, caps_.tile_rows + 2))});
    if (caps_.join_rows && outer >= 0 && outer != start.vector_axis)
      dimensions_.push_back({"joined_axis", {-1, outer}});
  }
  std::vector<int64_t> vectors;
  for (int64_t count : up_to(std::max(start.vectors, caps_.tile_vectors))) {
    const bool whole =
        start.vector_axis >= 0 && extent_of(group_, start.vector_axis) % (count * start.lanes) == 0;
    if (count == 1 || count == start.vectors || whole) vectors.push_back(count);
  }
  dimensions_.push_back({"vectors", vectors});
  if (start.reduce_axis >= 0) dimensions_.push_back({"reduce_axis", {-1, start.reduce_axis}});
}

Point Space::plain(Point point) const {
  auto* tiling = std::get_if<Tiling>(&point);
  if (!tiling) return point;
  const auto& start = std::get<Tiling>(start_);
  if (tiling->reduce_axis < 0) {
    tiling->reduce_block = 1;
  } else if (!is_grouped(start)) {
    tiling->reduce_block = start.reduce_block;
  }
  tiling->partial = start.partial && tiling->reduce_axis >= 0 && tiling->rows == 1;
  return point;
}

Point Space::mutate(const Point& point, Random& random) const {
  if (dimensions_.empty()) return point;
  Point changed = point;
  for (size_t turn = 0; turn <= below(2, random); ++turn) {
    const Dimension& one = dimensions_[below(dimensions_.size(), random)];
    set_field(changed, one.field, one.values[below(one.values.size(), random)]);
  }
  return plain(changed);
}

Point Space::cross(const Point& one, const Point& other, Random& random) const {
  Point mixed = one;
  for (const Dimension& dimension : dimensions_)
    if (below(2, random)) set_field(mixed, dimension.field, field_of(other, dimension.field));
  return plain(mixed);
}

Point Space::any(Random& random) const {
  Point point = start_;
  for (const Dimension& one : dimensions_)
    set_field(point, one.field, one.values[below(one.values.size(), random)]);
  return plain(point);
}

Point Space::at(size_t place) const {
  Point point = start_;
  for (const Dimension& one : dimensions_) {
    set_field(point, one.field, one.values[place % one.values.size()]);
    place /= one.values.size();
  }
  return plain(point);
}

std::vector<Point> Space::all() const {
  std::map<std::string, Point> distinct;
  for (size_t place = 0; place < size_; ++place) {
    Point point = at(place);
    distinct.emplace(to_string(point), std::move(point));
  }
  std::vector<Point> points;
  for (auto& [text, point] : distinct) points.push_back(std::move(point));
  return points;
}

std::vector<Point> Space::some_legal(size_t most) const {
  constexpr size_t tries = 4;  // for each point that is wanted
  // Steps of the golden section reach every place once, and the first ones all parts of the space.
  auto step = std::max<size_t>(1, static_cast<size_t>(0.618 * static_cast<double>(size_)));
  while (std::gcd(step, size_) != 1) ++step;
  std::set<std::string> seen{to_string(start_)};
  std::map<size_t, Point> found;
  for (size_t turn = 0; turn < std::min(size_, tries * most) && found.size() + 1 < most; ++turn) {
    const size_t place = turn * step % size_;
    Point point = at(place);
    if (seen.insert(to_string(point)).second && legal(point))
      found.emplace(place, std::move(point));
  }
  std::vector<Point> points{start_};
  for (auto& [place, point] : found) points.push_back(std::move(point));
  return points;
}

bool Space::legal(const Point& point) const {
  return schedule_at(group_, caps_, point).has_value();
}

}  // namespace gossamer::tune
