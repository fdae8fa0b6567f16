// How good the cost model is at kernels that it never saw.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "records/choice.h"
#include "tune/learned_costs.h"

namespace gossamer::tune {

struct MeasuredPoint {
  schedule::Point point;
  double ratio = 1;  // its time by the default point's
};
struct MeasuredKernel {
  std::string key, name;
  stages::Group group;
  target::Capabilities capabilities;
  std::vector<MeasuredPoint> points;  // of one adapter, each once, the default one among them
  double ms = 0;                      // of the default point
};

// Where the best measured point stands in the model's order, from 1 on.
struct Rank {
  size_t place = 0, of = 0;
  // Whether it is among the first so many of all; the first of few points counts.
  bool is_within(double share) const;
};
struct Judgement {
  const MeasuredKernel* kernel = nullptr;
  double best = 1;            // ratio of the best measured point
  Rank in_space;              // among all legal points of the space, and those measured
  Rank near_in_space;         // of the first point there that is as good as the best one
  Rank in_measured;           // among those measured alone
  double best_of_first = 1;   // ratio of the best measured point of the first 5 % of those measured
  double best_of_random = 1;  // what as many points drawn at random hold, on average
  // Of the points measured beside the default one: the ratio that is left when the first 1, 2, ..
  // of them were tried, in the model's order and at random.
  std::array<double, 4> after_first{}, after_random{};
};

constexpr double first_share = 0.05;

struct JudgeOptions {
  size_t least = 8;  // points: kernels of fewer are fitted to, and not asked about
  // The model: what was learned of others. Null: it leaves out one kernel after the other, is
  // fitted to all others and orders that one's points.
  const BoostedTrees* costs = nullptr;
  // Among all points of a space, too, which costs as much as scheduling each of them.
  bool in_space = true;
  std::function<void(size_t, size_t)> done = {};  // after each kernel, of so many
};
std::vector<Judgement> judge_model(const std::vector<MeasuredKernel>& kernels,
                                   const JudgeOptions& options);

// Of all of them, which are of one class of machines.
LearnedCosts learn_costs(const std::vector<MeasuredKernel>& kernels, std::string machine,
                         std::string adapter);

}  // namespace gossamer::tune
