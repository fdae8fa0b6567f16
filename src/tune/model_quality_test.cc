// Of machines that are a formula, the model knows the best points of kernels that it never saw; of
// those that are a dice, it does not, and the judgement says so.
#include "tune/model_quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "schedule/test_stages.h"
#include "tune/space.h"

namespace gossamer::tune {
namespace {

using schedule::index;

double formula(const schedule::Point& point) {
  const double rows = double(field_of(point, "rows")), vectors = double(field_of(point, "vectors"));
  return 1 + std::abs(rows - 6) / 4 + 1 / vectors + 0.2 / double(field_of(point, "unroll"));
}

template <class Time>
std::vector<MeasuredKernel> measure(Time time) {
  std::vector<MeasuredKernel> kernels;
  Random random(7);
  for (const int size : {64, 96, 128, 192, 256, 384}) {
    const auto group =
        schedule::single_group(schedule::product(index(size), index(size), index(size)));
    const auto caps = capabilities_of(schedule::TargetKind::cpu);
    MeasuredKernel kernel{key_of(group), "product", group, caps, {}};
    const Space space(kernel.group, caps);
    std::vector<schedule::Point> points = space.all();
    std::erase_if(points, [&](const schedule::Point& one) { return !space.legal(one); });
    std::ranges::shuffle(points, random);
    points.resize(40);
    kernel.points.push_back({space.start(), 1});
    for (const schedule::Point& point : points) {
      if (to_string(point) != to_string(space.start()))
        kernel.points.push_back({point, time(point) / time(space.start())});
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

size_t found_by(const std::vector<Judgement>& judged) {
  return size_t(std::ranges::count_if(
      judged, [](const Judgement& one) { return one.near_in_space.is_within(first_share); }));
}

TEST(ModelQuality, AFormulaIsLearned) {
  const auto kernels = measure(formula);
  const auto judged = judge_model(kernels, 8);
  ASSERT_EQ(judged.size(), kernels.size());
  EXPECT_EQ(found_by(judged), judged.size());
  for (const Judgement& one : judged) {
    EXPECT_EQ(one.in_measured.of, one.kernel->points.size());
    EXPECT_GT(one.in_space.of, one.in_measured.of);
    EXPECT_LE(one.best, one.best_of_first);
    EXPECT_LT(one.best_of_first, one.best_of_random);
  }
}

TEST(ModelQuality, ADiceIsNot) {
  Random random(3);
  const auto dice = [&](const schedule::Point&) {
    return std::uniform_real_distribution<>(1, 3)(random);
  };
  EXPECT_LT(found_by(judge_model(measure(dice), 8)), 3u);
}

TEST(ModelQuality, KernelsOfFewPointsAreNotAskedAbout) {
  auto kernels = measure(formula);
  kernels[2].points.resize(7);
  const auto judged = judge_model(kernels, 8);
  EXPECT_EQ(judged.size(), kernels.size() - 1);
  for (const Judgement& one : judged) EXPECT_NE(one.kernel, &kernels[2]);
}

TEST(ModelQuality, Ranks) {
  EXPECT_TRUE((Rank{1, 7}.is_within(0.05)));
  EXPECT_FALSE((Rank{2, 39}.is_within(0.05)));
  EXPECT_TRUE((Rank{2, 40}.is_within(0.05)));
  EXPECT_FALSE((Rank{3, 40}.is_within(0.05)));
}

TEST(ModelQuality, ASpaceHasEachPointOnce) {
  const auto group = schedule::single_group(schedule::product(index(64), index(64), index(64)));
  const Space space(group, capabilities_of(schedule::TargetKind::cpu));
  std::set<std::string> texts;
  for (const schedule::Point& point : space.all())
    EXPECT_TRUE(texts.insert(to_string(point)).second);
  EXPECT_TRUE(texts.contains(to_string(space.start())));
  Random random(1);
  for (int turn = 0; turn < 50; ++turn) EXPECT_TRUE(texts.contains(to_string(space.any(random))));
}

}  // namespace
}  // namespace gossamer::tune
