// NonMaxSuppression in blocks against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "interp/case_values.h"

namespace gossamer::interp {
namespace {

constexpr int64_t boxes = 420, classes = 2;
constexpr float overlap = 0.3f;

// Corners within 100 x 100, in any order.
std::vector<float> corners() {
  std::vector<float> sides;
  for (int64_t i = 0; i < boxes; ++i) {
    const auto at = static_cast<float>(i);
    const float y = 50 + 45 * std::sin(at * 1.7f), x = 50 + 45 * std::sin(at * 2.9f + 1);
    const float size = 3 + 2 * std::sin(at * 0.7f), turn = i % 3 == 0 ? -size : size;
    sides.insert(sides.end(), {y, x, y + turn, x + size});
  }
  return sides;
}

// Many equals, and what no order has.
std::vector<float> scores() {
  std::vector<float> all;
  for (int64_t i = 0; i < classes * boxes; ++i) {
    const float score = std::round(20 * std::sin(static_cast<float>(i) * 0.37f)) / 20;
    all.push_back(score == 0 && i % 2 ? -0.0f : score);
  }
  all[5] = std::numeric_limits<float>::quiet_NaN();
  all[17] = std::numeric_limits<float>::infinity();
  all[boxes + 3] = -std::numeric_limits<float>::infinity();
  return all;
}

std::vector<double> by_loops(int64_t most) {
  const std::vector<float> sides = corners(), all = scores();
  const auto shared = [&](int64_t a, int64_t b) {
    const auto low = [&](int64_t i, int k) {
      return std::min(sides[static_cast<size_t>(4 * i + k)],
                      sides[static_cast<size_t>(4 * i + k + 2)]);
    };
    const auto high = [&](int64_t i, int k) {
      return std::max(sides[static_cast<size_t>(4 * i + k)],
                      sides[static_cast<size_t>(4 * i + k + 2)]);
    };
    std::array<float, 2> both{};
    for (int k = 0; k < 2; ++k)
      both[static_cast<size_t>(k)] =
          std::min(high(a, k), high(b, k)) - std::max(low(a, k), low(b, k));
    if (both[0] <= 0 || both[1] <= 0) return 0.0f;
    const auto area = [&](int64_t i) {
      return (high(i, 0) - low(i, 0)) * (high(i, 1) - low(i, 1));
    };
    return both[0] * both[1] / (area(a) + area(b) - both[0] * both[1]);
  };
  std::vector<double> result;
  for (int64_t c = 0; c < classes; ++c) {
    const auto score = [&](int64_t i) { return all[static_cast<size_t>(c * boxes + i)]; };
    std::vector<int64_t> order, kept;
    for (int64_t i = 0; i < boxes; ++i) {
      if (score(i) > -0.9f) order.push_back(i);
    }
    std::ranges::sort(order, [&](int64_t a, int64_t b) {
      return score(a) > score(b) || (score(a) == score(b) && a < b);
    });
    for (const int64_t i : order) {
      if (static_cast<int64_t>(kept.size()) == most) break;
      if (std::ranges::none_of(kept, [&](int64_t k) { return shared(k, i) > overlap; }))
        kept.push_back(i);
    }
    for (const int64_t i : kept)
      result.insert(result.end(), {0, static_cast<double>(c), static_cast<double>(i)});
  }
  return result;
}

std::vector<double> by_blocks(int64_t most) {
  return values_of(
      "", "NonMaxSuppression", {},
      {ops::floats({1, boxes, 4}, corners()), ops::floats({1, classes, boxes}, scores()),
       ops::int64s({1}, {most}), ops::floats({1}, {overlap}), ops::floats({1}, {-0.9f})});
}

TEST(SuppressionValues, BlocksKeepWhatLoopsKeep) {
  for (const int64_t most : {40, 420}) {
    const std::vector<double> wanted = by_loops(most);
    EXPECT_EQ(by_blocks(most), wanted) << most;
    if (most == 420) {
      EXPECT_GT(wanted.size(), 3u * 2 * 256) << "they fit into one block";
    }
  }
}

}  // namespace
}  // namespace gossamer::interp
