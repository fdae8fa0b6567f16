// Of machines that are a formula, the model knows the best points of kernels that it never saw; of
// those that are a dice, it does not, and the judgement says so.
#include "tune/model_quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autoschedule/test_stages.h"
#include "tune/features.h"
#include "tune/replay.h"
#include "tune/space.h"
#include "tune/text.h"

namespace gossamer::tune {
namespace {

using ir::index;

double formula(const schedule::Point& point) {
  const double rows = double(*factor_of(point, "row")), vectors = double(*factor_of(point, "vec"));
  double unrolled = 1;
  for (const schedule::Call& call : point[0].calls) {
    if (call.word == "unroll" && limit_of(call))
      unrolled = std::stod(call.arguments[*limit_of(call)]);
  }
  return 1 + std::abs(rows - 6) / 4 + 1 / vectors + 0.2 / unrolled;
}

template <class Time>
std::vector<MeasuredKernel> measure(Time time) {
  std::vector<MeasuredKernel> kernels;
  Random random(7);
  for (const int size : {64, 96, 128, 192, 256, 384}) {
    const auto group =
        stages::single_group(autoschedule::product(index(size), index(size), index(size)));
    const auto caps = target::capabilities_of(TargetKind::cpu);
    MeasuredKernel kernel{records::key_of(group), "product", group, caps, {}, 1};
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
  const auto judged = judge_model(kernels, {});
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
  EXPECT_LT(found_by(judge_model(measure(dice), {})), 3u);
}

// What was learned of some kernels orders the points of others, also as a line that was read back.
TEST(ModelQuality, CostsAreOfUseElsewhere) {
  auto kernels = measure(formula);
  const std::vector<MeasuredKernel> others(kernels.begin() + 3, kernels.end());
  kernels.resize(3);
  const LearnedCosts costs = learn_costs(others, "cpu", "a formula");
  EXPECT_EQ(costs.kernels, 3);
  size_t points = 0;
  for (const MeasuredKernel& kernel : others) points += kernel.points.size();
  EXPECT_EQ(static_cast<size_t>(costs.points), points);
  const Recorded read = read_records(line_of(costs), "a line");
  ASSERT_EQ(read.costs.size(), 1u);
  EXPECT_EQ(read.costs[0].machine, "cpu");
  EXPECT_EQ(read.costs[0].adapter, "a formula");
  EXPECT_EQ(read.costs[0].points, costs.points);
  const auto judged = judge_model(kernels, {.costs = &read.costs[0].trees, .in_space = false});
  ASSERT_EQ(judged.size(), 3u);
  for (const Judgement& one : judged) {
    EXPECT_TRUE(one.in_measured.place <= 4) << one.in_measured.place;
    EXPECT_LE(one.after_first[0], one.after_random[0]);
    EXPECT_LT(one.best_of_first, 1.1 * one.best);
    EXPECT_LT(one.best_of_first, one.best_of_random);
  }
}

TEST(ModelQuality, CostsThatAreNone) {
  const std::string good = line_of(learn_costs(measure(formula), "cpu", "a formula"));
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string line = good;
    const size_t at = line.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    return line.replace(at, before.size(), after);
  };
  EXPECT_EQ(read_records(good, "").costs.size(), 1u);
  for (const std::string& line :
       {with(cat("\"features\":", feature_count), "\"features\":7"), with("[[", "[[900,1,"),
        with("[[", "[[\"a\","), with("[[", "[1,["), with("\"trees\"", "\"threes\"")}) {
    const Recorded read = read_records(line, "a file");
    EXPECT_TRUE(read.costs.empty()) << line.substr(0, 200);
    EXPECT_EQ(read.left_out.size(), 1u) << line.substr(0, 200);
  }
}

TEST(ModelQuality, KernelsOfFewPointsAreNotAskedAbout) {
  auto kernels = measure(formula);
  kernels[2].points.resize(7);
  const auto judged = judge_model(kernels, {});
  EXPECT_EQ(judged.size(), kernels.size() - 1);
  for (const Judgement& one : judged) EXPECT_NE(one.kernel, &kernels[2]);
}

TEST(ModelQuality, Ranks) {
  EXPECT_TRUE((Rank{1, 7}.is_within(0.05)));
  EXPECT_FALSE((Rank{2, 39}.is_within(0.05)));
  EXPECT_TRUE((Rank{2, 40}.is_within(0.05)));
  EXPECT_FALSE((Rank{3, 40}.is_within(0.05)));
}

TEST(ModelQuality, Features) {
  for (const MeasuredKernel& kernel : measure(formula)) {
    const Space space(kernel.group, kernel.capabilities);
    EXPECT_EQ(space.features(space.start()).size(), feature_count);
  }
}

TEST(ModelQuality, ASpaceHasEachPointOnce) {
  const auto group = stages::single_group(autoschedule::product(index(64), index(64), index(64)));
  const Space space(group, target::capabilities_of(TargetKind::cpu));
  std::set<std::string> texts;
  for (const schedule::Point& point : space.all())
    EXPECT_TRUE(texts.insert(to_string(point)).second);
  EXPECT_TRUE(texts.contains(to_string(space.start())));
  Random random(1);
  for (int turn = 0; turn < 50; ++turn) EXPECT_TRUE(texts.contains(to_string(space.any(random))));
}

// On a device that is a formula, longer searches find more, and never more than there is.
TEST(ModelQuality, SearchesAreReplayed) {
  const auto kernels = measure(formula);
  double best = 0, all = 0;
  for (const MeasuredKernel& kernel : kernels) {
    best += std::ranges::min(kernel.points, {}, &MeasuredPoint::ratio).ratio;
    all += kernel.ms;
  }
  std::vector<double> found;
  for (const double seconds : {0.05, 2.0}) {
    const auto replayed =
        replay(kernels, {.searches = 3, .seconds = seconds, .of_batch = 0.0, .of_point = 0.01});
    ASSERT_TRUE(replayed) << replayed.error().to_string();
    EXPECT_EQ(replayed->ms, all);
    ASSERT_EQ(replayed->after.size(), 3u);
    EXPECT_TRUE(std::ranges::is_sorted(replayed->after));
    EXPECT_LE(replayed->after[2], all);
    // Trees that are fitted to points may think more of another one than of any of these.
    EXPECT_GT(replayed->after[0], 0.8 * best);
    found.push_back(replayed->after[1]);
  }
  EXPECT_LT(found[1], found[0]);
}

}  // namespace
}  // namespace gossamer::tune
