// Searches without a device: what other ways to search would find is asked of points that were
// measured once.
#pragma once

#include <vector>

#include "tune/learned_costs.h"
#include "tune/model_quality.h"

namespace gossamer::tune {

struct ReplayOptions {
  int searches = 40;  // each of another seed
  // A search ends when its batches took so many seconds: each so many, and more for each point.
  double seconds = 5.4, of_batch = 0.09, of_point = 0.05;
  std::vector<LearnedCosts> costs = {};  // that searches begin with
};
struct Replayed {
  double ms = 0;                   // of all kernels at default points
  std::vector<double> after;       // of what each search found, in ms
  double batches = 0, points = 0;  // of a search, on average
};
// A point takes what was measured of it. Others take what boosted trees say that are fitted to all
// measured points, closely: so results say which of two ways finds more, not what it finds on the
// device. Error: the kernels have no times.
Result<Replayed> replay(const std::vector<MeasuredKernel>& kernels, const ReplayOptions& options);

}  // namespace gossamer::tune
