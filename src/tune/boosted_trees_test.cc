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

TEST(BoostedTrees, WalksReadBack) {
  std::vector<float> rows;
  std::vector<double> targets;
  for (int i = 0; i < 200; ++i) {
    const float x = static_cast<float>(i % 17), y = static_cast<float>(i % 5);
    rows.insert(rows.end(), {x, y});
    targets.push_back(std::sin(x) * y);
  }
  const BoostedTrees trees = BoostedTrees::fit(rows, targets);
  const auto read = BoostedTrees::of_walks(trees.base(), trees.walks(), 2);
  ASSERT_TRUE(read) << read.error().to_string();
  for (size_t i = 0; i < targets.size(); ++i)
    EXPECT_EQ(read->predict(std::span(rows).subspan(2 * i, 2)),
              trees.predict(std::span(rows).subspan(2 * i, 2)));
}

TEST(BoostedTrees, WalksThatAreNoTrees) {
  const double infinite = std::numeric_limits<double>::infinity();
  using Walk = BoostedTrees::Walk;
  for (const Walk& walk :
       {Walk{}, Walk{-1}, Walk{0, 1}, Walk{0, 1, -1, 2}, Walk{0, 1, 0, 1, -1, 2, -1, 3},
        Walk{-1, 2, -1, 3}, Walk{0, 1, -1, 2, -1, 3, -1, 4}, Walk{2, 1, -1, 2, -1, 3},
        Walk{-2, 1, -1, 2, -1, 3}, Walk{infinite, 1, -1, 2, -1, 3}, Walk{0, infinite, -1, 2, -1, 3},
        Walk{0, 1, -1, 2, -1, 3, -1}})
    EXPECT_FALSE(BoostedTrees::of_walks(0, std::vector<Walk>{walk}, 2)) << walk.size();
  for (const Walk& walk :
       {Walk{-1, 2}, Walk{0, 1, -1, 2, -1, 3}, Walk{0, 1, 1, 1, -1, 2, -1, 3, -1, 4},
        Walk{0, 1, -1, 2, 1, 1, -1, 3, -1, 4}})
    EXPECT_TRUE(BoostedTrees::of_walks(0, std::vector<Walk>{walk}, 2)) << walk.size();
}

}  // namespace
}  // namespace gossamer::tune
