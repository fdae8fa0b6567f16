#include "tune/model_quality.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tune/bench.h"
#include "tune/search.h"

namespace gossamer::tune {
namespace {

size_t first_of(size_t count, double share) {
  return std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(count)));
}

// What is best of the first `count` of points in any order: the r-th best of n is it where it is
// drawn and the r better ones are not.
double expected_best(std::vector<double> ratios, size_t count) {
  std::ranges::sort(ratios);
  const size_t n = ratios.size();
  double expected = 0, none_yet = 1;  // that none of the better ones is drawn
  for (size_t r = 0; r < n; ++r) {
    const double here = r + count >= n ? 1 : double(count) / double(n - r);
    expected += none_yet * here * ratios[r];
    none_yet *= 1 - here;
  }
  return expected;
}

// What is left of the default point's time when the first points were tried.
template <size_t N>
void try_first(const std::vector<double>& ratios, std::array<double, N>& left) {
  double now = 1;
  for (size_t at = 0; at < N; ++at) {
    if (at < ratios.size() && ratios[at] <= faster) now = std::min(now, ratios[at]);
    left[at] += now;
  }
}

void try_points(const MeasuredKernel& kernel, const Space& space, const CostModel& model,
                Judgement& judged) {
  constexpr int draws = 100;
  const std::string start = to_string(space.start());
  std::vector<std::pair<double, double>> order;  // predicted, measured
  for (const MeasuredPoint& one : kernel.points)
    if (to_string(one.point) != start)
      order.emplace_back(model.predict(space, one.point), one.ratio);
  std::ranges::sort(order);
  std::vector<double> ratios;
  for (const auto& [cost, ratio] : order) ratios.push_back(ratio);
  try_first(ratios, judged.after_first);
  Random random(1);
  for (int draw = 0; draw < draws; ++draw) {
    std::ranges::shuffle(ratios, random);
    try_first(ratios, judged.after_random);
  }
  for (double& left : judged.after_random) left /= draws;
}

Judgement judge(const MeasuredKernel& kernel, const CostModel& model, bool in_space) {
  const Space space(kernel.group, kernel.capabilities);
  Judgement judged;
  judged.kernel = &kernel;
  const auto best = std::ranges::min_element(kernel.points, {}, &MeasuredPoint::ratio);
  judged.best = best->ratio;
  const double best_cost = model.predict(space, best->point);
  // Of points that the model takes for equals, the wanted one comes in their middle.
  const auto rank_of = [](double wanted, const std::vector<double>& costs) {
    const auto below = std::ranges::count_if(costs, [&](double one) { return one < wanted; });
    const auto equal = std::ranges::count(costs, wanted);
    return Rank{static_cast<size_t>(below + (equal + 1) / 2), costs.size()};
  };

  std::set<std::string> measured;
  std::vector<double> costs, ratios;
  std::vector<std::pair<double, double>> order;  // predicted, measured
  for (const MeasuredPoint& one : kernel.points) {
    measured.insert(to_string(one.point));
    costs.push_back(model.predict(space, one.point));
    ratios.push_back(one.ratio);
    order.emplace_back(costs.back(), one.ratio);
  }
  judged.in_measured = rank_of(best_cost, costs);
  std::ranges::sort(order);
  const auto near = std::ranges::find_if(
      order, [&](const auto& one) { return judged.best > faster * one.second; });
  const size_t first = first_of(order.size(), first_share);
  judged.best_of_first = order[0].second;
  for (size_t at = 0; at < first; ++at)
    judged.best_of_first = std::min(judged.best_of_first, order[at].second);
  judged.best_of_random = expected_best(ratios, first);

  try_points(kernel, space, model, judged);
  if (!in_space) return judged;
  for (const schedule::Point& point : space.all()) {
    if (!measured.contains(to_string(point)) && space.legal(point))
      costs.push_back(model.predict(space, point));
  }
  judged.in_space = rank_of(best_cost, costs);
  judged.near_in_space = rank_of(near->first, costs);
  return judged;
}

void add_to(CostModel& model, const MeasuredKernel& kernel) {
  const Space space(kernel.group, kernel.capabilities);
  for (const MeasuredPoint& one : kernel.points) model.add(space, one.point, one.ratio);
}

}  // namespace

bool Rank::is_within(double share) const { return place <= first_of(of, share); }

std::vector<Judgement> judge_model(const std::vector<MeasuredKernel>& kernels,
                                   const JudgeOptions& options) {
  std::vector<Judgement> judged;
  for (size_t at = 0; at < kernels.size(); ++at) {
    if (kernels[at].points.size() >= options.least) {
      CostModel model;
      model.begin_with(options.costs);
      if (!options.costs) {
        for (size_t other = 0; other < kernels.size(); ++other)
          if (other != at) add_to(model, kernels[other]);
        model.fit();
      }
      judged.push_back(judge(kernels[at], model, options.in_space));
    }
    if (options.done) options.done(at + 1, kernels.size());
  }
  return judged;
}

LearnedCosts learn_costs(const std::vector<MeasuredKernel>& kernels, std::string machine,
                         std::string adapter) {
  CostModel model;
  LearnedCosts costs{std::move(machine), std::move(adapter), 0, 0, {}};
  for (const MeasuredKernel& kernel : kernels) {
    add_to(model, kernel);
    ++costs.kernels;
    costs.points += static_cast<int>(kernel.points.size());
  }
  model.fit();
  costs.trees = model.trees();
  return costs;
}

}  // namespace gossamer::tune
