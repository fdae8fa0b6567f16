#include "tune/search.h"

#include <algorithm>
#include <cmath>

#include "tune/features.h"

namespace gossamer::tune {
namespace {

constexpr size_t parents = 6;      // of the best that are varied
constexpr int candidates = 96;     // for each point that is measured
constexpr int schedules = 16;      // that may turn out not to be legal
constexpr double curiosity = 0.2;  // of all points, not the model's choice
constexpr size_t enough = 24;      // samples of which something can be learned

double chance(Random& random) { return std::uniform_real_distribution<>(0, 1)(random); }

}  // namespace

void CostModel::add(const Space& space, const schedule::Point& point, double ratio) {
  const std::vector<float> row = features_of(space.group(), space.start(), point);
  rows_.insert(rows_.end(), row.begin(), row.end());
  // What is very slow is slow enough: how slow is nothing to learn.
  targets_.push_back(std::log(std::clamp(ratio, 0.05, 4.0)));
}

void CostModel::fit() {
  if (targets_.size() < enough) return;
  trees_ = BoostedTrees::fit(rows_, targets_);
  fitted_ = true;
}

double CostModel::predict(const Space& space, const schedule::Point& point) const {
  return trees_.predict(features_of(space.group(), space.start(), point));
}

Search::Search(const schedule::Group& group, const schedule::Capabilities& capabilities,
               unsigned seed)
    : space_(group, capabilities), random_(seed) {
  tell(space_.start(), 1.0);
}

schedule::Point Search::candidate() {
  const double way = chance(random_);
  const size_t count = std::min(parents, measured_.size());
  const auto parent = [&] {
    const auto steps = static_cast<ptrdiff_t>(chance(random_) * static_cast<double>(count));
    return std::next(measured_.begin(), steps)->second;
  };
  if (way < 0.15) return space_.any(random_);
  if (way < 0.35) return space_.cross(parent(), parent(), random_);
  return space_.mutate(parent(), random_);
}

std::optional<schedule::Point> Search::next(const CostModel& model) {
  struct Rated {
    double cost;
    std::string text;
    schedule::Point point;
  };
  std::vector<Rated> rated;
  const bool guess = !model.knows_something() || chance(random_) < curiosity;
  for (int turn = 0; turn < candidates; ++turn) {
    schedule::Point point = candidate();
    std::string text = to_string(point);
    if (told_.contains(text) || given_.contains(text)) continue;
    const double cost = guess ? chance(random_) : model.predict(space_, point);
    rated.push_back({cost, std::move(text), point});
  }
  std::ranges::sort(rated, {}, &Rated::cost);
  int schedules_left = schedules;
  for (const Rated& one : rated) {
    if (told_.contains(one.text)) continue;
    if (schedules_left-- == 0) break;
    if (space_.legal(one.point)) {
      in_vain_ = 0;
      given_.insert(one.text);
      return one.point;
    }
    told_.emplace(one.text, false);
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
