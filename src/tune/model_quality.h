// How good the cost model is at kernels that it never saw.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/choice.h"

namespace gossamer::tune {

struct MeasuredPoint {
  schedule::Point point;
  double ratio = 1;  // its time by the default point's
};
struct MeasuredKernel {
  std::string key, name;
  schedule::Group group;
  schedule::Capabilities capabilities;
  std::vector<MeasuredPoint> points;  // of one adapter, each once, the default one among them
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
};

constexpr double first_share = 0.05;

// Leaves one kernel out after the other: the model is fitted to all others, and orders that one's
// points. Kernels of less than `least` points are fitted to, and not asked about. `done`: after
// each kernel, of so many. Costs as much as scheduling every point of every space does.
std::vector<Judgement> judge_model(const std::vector<MeasuredKernel>& kernels, size_t least,
                                   const std::function<void(size_t, size_t)>& done = {});

}  // namespace gossamer::tune
