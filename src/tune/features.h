// What a cost model sees of a kernel: numbers of a group and of a point of its space.
#pragma once

#include <vector>

#include "schedule/choice.h"

namespace gossamer::tune {

// Always as many: amounts as logarithms to base 2, ratios and flags as they are, of the point and
// how far it is from the default one, `start`.
std::vector<float> features_of(const schedule::Group& group, const schedule::Point& start,
                               const schedule::Point& point);

}  // namespace gossamer::tune
