#include "tune/boosted_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gossamer::tune {
namespace {

struct Samples {
  std::vector<float> rows;
  std::vector<double> targets;
};

// A step, a product and a feature that says nothing.
Samples draw(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> any(0, 1);
  Samples drawn;
  for (size_t i = 0; i < count; ++i) {
    const float a = any(random), b = any(random), c = any(random);
    drawn.rows.insert(drawn.rows.end(), {a, b, c});
    drawn.targets.push_back((a > 0.3F ? 1.0 : 0.0) + 2.0 * a * b);
  }
  return drawn;
}

double error_of(const BoostedTrees& trees, const Samples& samples) {
  double sum = 0;
  for (size_t i = 0; i < samples.targets.size(); ++i) {
    const double off = trees.predict({&samples.rows[i * 3], 3}) - samples.targets[i];
    sum += off * off;
  }
  return std::sqrt(sum / static_cast<double>(samples.targets.size()));
}

TEST(BoostedTrees, LearnsWhatItHasNotSeen) {
  const Samples seen = draw(600, 1), others = draw(200, 2);
  const double learned = error_of(BoostedTrees::fit(seen.rows, seen.targets), others);
  BoostingOptions mean;
  mean.trees = 0;
  EXPECT_LT(learned, 0.15);
  EXPECT_GT(error_of(BoostedTrees::fit(seen.rows, seen.targets, mean), others), 0.5);
}

TEST(BoostedTrees, FewSamples) {
  EXPECT_EQ(BoostedTrees::fit({}, {}).predict(std::vector<float>{1, 2}), 0);
  const std::vector<float> rows{1, 2, 1, 2};
  const std::vector<double> targets{3, 5};
  EXPECT_NEAR(BoostedTrees::fit(rows, targets).predict(std::vector<float>{1, 2}), 4, 1e-9);
}

}  // namespace
}  // namespace gossamer::tune
