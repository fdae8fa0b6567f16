#include "tune/space.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "autoschedule/default_schedule.h"
#include "ir/build.h"

namespace gossamer::tune {
namespace {

using schedule::Place;
using schedule::Point;

std::vector<std::string> texts_of(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(cat(number));
  return texts;
}

std::vector<std::string> up_to(int64_t last) {
  std::vector<int64_t> values(static_cast<size_t>(last));
  std::iota(values.begin(), values.end(), 1);
  return texts_of(values);
}

void set(Point& point, const Dimension& dimension, std::string_view value) {
  for (const Place& place : dimension.places) set_argument(point, place, std::string(value));
}

size_t below(size_t count, Random& random) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

// Factors that vary, by the form of the default point and the name of a loop.
struct Factors {
  std::string_view form, loop;
  std::vector<int64_t> values;
};
const std::vector<Factors>& factors() {
  static const std::vector<Factors> all{
      {"rows", "row", {1, 2, 4, 8, 16, 32, 64}},
      {"rows", "invocation", {1, 2, 4, 8, 16, 32, 64}},
      {"rows", "thread", {1, 2, 4, 8, 16, 32, 64, 128, 256}},
      {"staged", "row", {1, 2, 4, 8}},
      {"staged", "vec", {1, 2}},
      {"staged", ".thread", {1, 4, 8, 16, 32}},
      {"staged", "part", {1, 2, 4, 8}},
      {"shared", "part", {1, 2, 4, 8, 16, 32, 64}},
      {"shared", ".thread", {1, 2, 4, 8, 16, 32}},
      {"tile", "invocation", {32, 64, 128, 256}},
  };
  return all;
}

}  // namespace

Space::Space(const stages::Group& group, const target::Capabilities& capabilities)
    : group_(group),
      caps_(capabilities),
      start_(autoschedule::default_point(group, capabilities)),
      features_(group, start_) {
  std::vector<Place> unrolled, staged;
  for (size_t l = 0; l < start_.size(); ++l) {
    for (size_t c = 0; c < start_[l].calls.size(); ++c) {
      const schedule::Call& call = start_[l].calls[c];
      const auto limit = limit_of(call);
      if (call.word == "unroll" && limit) unrolled.push_back({l, c, *limit});
      if (call.word == "stage_in") staged.push_back({l, c, 2});
      if (call.word == "fuse" && start_[l].pattern == "map" && caps_.group_size == 1)
        add({{l, c, 1}}, {"", "64", "256", "1024", "4096", "16384", "65536"});
    }
  }
  add(std::move(unrolled), {"1", "2", "4", "8"});
  const bool rows = start_[0].pattern == "rows", shared = !places_of(start_, "part").empty();
  const std::string_view form = rows              ? "rows"
                                : !staged.empty() ? "staged"
                                : shared          ? "shared"
                                                  : "tile";
  for (const Factors& one : factors()) {
    if (one.form != form || (one.loop == "thread" && !caps_.hardware)) continue;
    const auto places = places_of(start_, one.loop);
    if (rows) add(places, texts_of(one.values));
    for (const Place& place : places)
      if (!rows) add({place}, texts_of(one.values));
  }
  if (rows) of_rows();
  if (form == "staged") {
    auto blocks = places_of(start_, "part");
    for (Place& place : blocks) ++place.argument;
    add(std::move(blocks), {"4", "8", "16", "32"});
    add(std::move(staged), {"", "ahead"});
  }
  if (form == "tile" && group_.last().output->layout.memory != ir::Memory::texture) of_tile();
  for (const Dimension& one : dimensions_) size_ *= one.values.size();
}

void Space::add(std::vector<Place> places, std::vector<std::string> values) {
  if (!places.empty() && values.size() > 1)
    dimensions_.push_back({std::move(places), std::move(values)});
}

// Lanes of all members with as many.
void Space::of_rows() {
  std::map<std::string, std::vector<Place>, std::less<>> places;
  for (const Place& place : places_of(start_, "lane"))
    places[std::string(argument_at(start_, place))].push_back(place);
  for (auto& [lanes, same] : places) add(std::move(same), {"1", lanes});
}

// A register tile, and blocks of the reduction's axis, or none.
void Space::of_tile() {
  const auto row = places_of(start_, "row"), vec = places_of(start_, "vec");
  const auto whole = [&](const std::vector<Place>& places) {
    return places.empty() ? "" : argument_at(start_, {places[0].list, places[0].call, 0});
  };
  if (!row.empty() && start_[0].pattern != "scan") {
    const std::string rows(whole(row)), inner = rows.substr(rows.find('.') + 1);
    // Registers beyond the machine's are spilled, which now and then pays.
    add(row, up_to(std::min(extent_of(group_.last(), rows), caps_.tile_rows + int64_t{2})));
    const int outer = *axis_of(inner) - 1;
    const std::string before = cat("i", outer);
    if (caps_.join_rows && outer >= 0 && whole(vec) != before)
      add({{row[0].list, row[0].call, 0}}, {inner, cat(before, ".", inner)});
  }
  if (!vec.empty()) {
    const int64_t lanes = *factor_of(start_, "lane"), vectors = *factor_of(start_, "vec");
    const int64_t extent = extent_of(group_.last(), whole(vec));
    std::vector<int64_t> values;
    for (int64_t count = 1; count <= std::max<int64_t>(vectors, caps_.tile_vectors); ++count) {
      if (count == 1 || count == vectors || extent % (count * lanes) == 0) values.push_back(count);
    }
    add(vec, texts_of(values));
  }
  for (size_t c = 0; c < start_[0].calls.size(); ++c) {
    const schedule::Call& call = start_[0].calls[c];
    if (call.made.size() == 2 && call.made[0].ends_with(".block") && call.arguments[1] != "1")
      add({{0, c, 1}}, {"1", call.arguments[1]});
  }
}

Point Space::mutate(const Point& point, Random& random) const {
  if (dimensions_.empty()) return point;
  Point changed = point;
  for (size_t turn = 0; turn <= below(2, random); ++turn) {
    const Dimension& one = dimensions_[below(dimensions_.size(), random)];
    set(changed, one, one.values[below(one.values.size(), random)]);
  }
  return changed;
}

Point Space::cross(const Point& one, const Point& other, Random& random) const {
  Point mixed = one;
  for (const Dimension& dimension : dimensions_) {
    const std::string_view value = argument_at(other, dimension.places[0]);
    const bool has = !value.empty() || dimension.values[0].empty();
    if (below(2, random) && has) set(mixed, dimension, value);
  }
  return mixed;
}

Point Space::any(Random& random) const {
  Point point = start_;
  for (const Dimension& one : dimensions_)
    set(point, one, one.values[below(one.values.size(), random)]);
  return point;
}

Point Space::at(size_t place) const {
  Point point = start_;
  for (const Dimension& one : dimensions_) {
    set(point, one, one.values[place % one.values.size()]);
    place /= one.values.size();
  }
  return point;
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
  return autoschedule::schedule_at(group_, caps_, point).has_value();
}

}  // namespace gossamer::tune
