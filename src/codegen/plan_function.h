// The plan of a package: scalar arithmetic from dimensions to sizes, ranges and scalars.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::codegen {

// Each segment becomes a function of its own that stores its values and leaves the others
// (docs/specs/host.md). The dims of segment 0 are not negative; those of later ones may be
// variables, which can be.
struct PlanFunction {
  std::vector<ir::Var> dims;       // of type index, in the order of the manifest's dims
  std::vector<ir::Expr> values;    // of type index, over the dims
  std::vector<int> segments = {};  // of each value; empty: all of segment 0

  int segment_of(size_t value) const { return segments.empty() ? 0 : segments[value]; }
  int segment_count() const {
    return segments.empty() ? 1 : 1 + *std::max_element(segments.begin(), segments.end());
  }
};

// The function's exported name: "plan", "plan_1", "plan_2", ...
inline std::string segment_name(int segment) {
  return segment == 0 ? "plan" : "plan_" + std::to_string(segment);
}

}  // namespace gossamer::codegen
