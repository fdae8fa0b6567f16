// What a cost model sees of a kernel: numbers of a group and of a point of its space.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "records/choice.h"

namespace gossamer::tune {

// Learned costs (tune/learned_costs.h) are of these, in this order: who changes them learns anew.
constexpr size_t feature_count = 101;

// The number of an axis that lists call "i1" or "k1"; none: it is another loop.
std::optional<int> axis_of(std::string_view loop);
// Points along the axes in the name of a loop, such as "i2.i3"; 64 where only the run knows.
int64_t extent_of(const stages::Stage& stage, std::string_view loop);

class Features {
 public:
  // `start` is the default point.
  Features(const stages::Group& group, const schedule::Point& start);
  // feature_count: amounts as logarithms to base 2, ratios and flags as they are, of the group,
  // the point and how far that is from the default one.
  std::vector<float> of(const schedule::Point& point) const;

 private:
  const stages::Group& group_;
  std::vector<float> of_group_, of_start_;
};

}  // namespace gossamer::tune
