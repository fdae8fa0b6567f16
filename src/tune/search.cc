#include "tune/search.h"

#include <algorithm>
#include <cmath>

namespace gossamer::tune {
namespace {

constexpr size_t parents = 6;      // of the best that are varied
constexpr int candidates = 96;     // for each point that is measured
constexpr int generations = 3;     // of as many, where a model chooses
constexpr int schedules = 16;      // that may turn out not to be legal
constexpr double curiosity = 0.2;  // of all points, not the model's choice
constexpr size_t enough = 24;      // samples of which something can be learned
constexpr size_t curious = 6;      // points of a kernel that are known before
constexpr size_t varied = 16;      // points of a kernel that differ in more than unrolling

double chance(Random& random) { return std::uniform_real_distribution<>(0, 1)(random); }

// A point's text but for how far it unrolls.
std::string rolled(std::string text) {
  for (size_t at = 0; (at = text.find("unroll(", at)) != std::string::npos; ++at) {
    const size_t end = text.find(')', at), number = text.rfind(", ", end) + 2;
    if (number > at && text.find_first_not_of("0123456789", number) == end)
      text.erase(number, end - number);
  }
  return text;
}

}  // namespace

void CostModel::add(const Space& space, const schedule::Point& point, double ratio) {
  const std::vector<float> row = space.features(point);
  rows_.insert(rows_.end(), row.begin(), row.end());
  // What is very slow is slow enough: how slow is nothing to learn.
  const double target = std::log(std::clamp(ratio, 0.05, 4.0));
  targets_.push_back(before_ ? target - before_->predict(row) : target);
}

void CostModel::fit() {
  if (targets_.size() < enough) return;
  trees_ = BoostedTrees::fit(rows_, targets_);
  fitted_ = true;
}

double CostModel::predict(const Space& space, const schedule::Point& point) const {
  const std::vector<float> row = space.features(point);
  return trees_.predict(row) + (before_ ? before_->predict(row) : 0);
}

Search::Search(const stages::Group& group, const target::Capabilities& capabilities, unsigned seed)
    : space_(group, capabilities), random_(seed) {
  tell(space_.start(), 1.0);
}

schedule::Point Search::candidate(const std::vector<Rated>& known) {
  const double way = chance(random_);
  const auto parent = [&] {
    return known[static_cast<size_t>(chance(random_) * static_cast<double>(known.size()))].second;
  };
  if (way < 0.15) return space_.any(random_);
  if (way < 0.35) return space_.cross(parent(), parent(), random_);
  return space_.mutate(parent(), random_);
}

// Candidates that were neither told nor given, the likeliest first. What the model expects of one
// generation chooses the parents of the next.
std::vector<schedule::Point> Search::likely(const CostModel& model) {
  // Of a kernel's first points the model knows more than chance.
  const bool follows =
      model.knows_something() && (measured_.size() < curious || chance(random_) >= curiosity);
  std::vector<Rated> known, rated;
  for (const auto& [ratio, point] : measured_) {
    if (known.size() == parents) break;
    known.emplace_back(std::log(ratio), point);
  }
  std::set<std::string> seen;
  const auto by_cost = [](const Rated& one) { return one.first; };
  for (int generation = 0; generation < (follows ? generations : 1); ++generation) {
    for (int turn = 0; turn < candidates; ++turn) {
      const schedule::Point point = candidate(known);
      std::string text = to_string(point);
      if (told_.contains(text) || given_.contains(text) || !seen.insert(std::move(text)).second)
        continue;
      rated.emplace_back(follows ? model.predict(space_, point) : chance(random_), point);
    }
    std::ranges::sort(rated, {}, by_cost);
    known.insert(known.end(), rated.begin(),
                 rated.begin() + static_cast<ptrdiff_t>(std::min(parents, rated.size())));
    std::ranges::sort(known, {}, by_cost);
    known.resize(std::min(known.size(), 2 * parents));
  }
  std::vector<schedule::Point> points;
  for (const Rated& one : rated) points.push_back(one.second);
  return points;
}

// A kernel unrolled otherwise takes nearly as long: of its first points none is another one that
// is, while there are others.
std::optional<schedule::Point> Search::next(const CostModel& model) {
  std::vector<schedule::Point> points = likely(model);
  if (measured_.size() + given_.size() < varied) {
    std::set<std::string> near;
    for (const auto& [ratio, point] : measured_) near.insert(rolled(to_string(point)));
    for (const std::string& text : given_) near.insert(rolled(text));
    std::vector<schedule::Point> later;
    std::erase_if(points, [&](const schedule::Point& point) {
      const bool is_near = near.contains(rolled(to_string(point)));
      if (is_near) later.push_back(point);
      return is_near;
    });
    points.insert(points.end(), later.begin(), later.end());
  }
  int schedules_left = schedules;
  for (const schedule::Point& point : points) {
    if (schedules_left-- == 0) break;
    std::string text = to_string(point);
    if (space_.legal(point)) {
      in_vain_ = 0;
      given_.insert(std::move(text));
      return point;
    }
    told_.emplace(std::move(text), false);
  }
  ++in_vain_;
  return std::nullopt;
}

void Search::tell(const schedule::Point& point, std::optional<double> ratio) {
  std::string text = to_string(point);
  given_.erase(text);
  if (!told_.emplace(std::move(text), true).second) return;
  if (ratio) measured_.emplace(*ratio, point);
}

void Search::forget(const schedule::Point& point) {
  given_.erase(to_string(point));
  in_vain_ = 0;
}

}  // namespace gossamer::tune
