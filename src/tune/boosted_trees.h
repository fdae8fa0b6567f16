// Gradient boosting of regression trees for a squared loss (Friedman, "Greedy Function
// Approximation", 2001), small enough to run in a page: features in at most 32 bins, trees of a
// fixed depth, each on what those before it left.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace gossamer::tune {

struct BoostingOptions {
  int trees = 80, depth = 5;
  double rate = 0.15;   // of each tree's step
  int least = 3;        // samples of a leaf
  double shrink = 1.0;  // samples of zero added to each leaf
};

class BoostedTrees {
 public:
  // `rows` samples one after the other, `targets.size()` of them. Work: samples x features x depth
  // x trees. No samples: it predicts 0.
  static BoostedTrees fit(std::span<const float> rows, std::span<const double> targets,
                          const BoostingOptions& options = {});
  double predict(std::span<const float> row) const;

  // A tree as numbers: of a node its feature and threshold, then what is at most as large, then
  // what is larger; of a leaf -1 and its value.
  using Walk = std::vector<double>;
  double base() const { return base_; }
  std::vector<Walk> walks() const;
  // Errors: a walk that is no tree over so many features.
  static Result<BoostedTrees> of_walks(double base, std::span<const Walk> walks, size_t features);

 private:
  struct Node {
    int feature = -1;  // a leaf
    float threshold = 0;
    int left = 0, right = 0;  // left: value <= threshold
    double value = 0;
  };
  class Fit;

  double base_ = 0;
  std::vector<std::vector<Node>> trees_;
};

}  // namespace gossamer::tune
