// The plan of a package: scalar arithmetic from dimensions to sizes, ranges and scalars.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::codegen {

// Run times refuse larger ones: kernels count an axis in 32 bits.
constexpr int64_t largest_dim = (int64_t{1} << 31) - 1;

// Each segment becomes a function of its own that stores its values and leaves the others
// (docs/specs/host.md). The dims of segment 0 are not negative; those of later ones may be
// variables, which can be.
struct PlanFunction {
  std::vector<ir::Var> dims;       // of type index, in the order of the manifest's dims
  std::vector<ir::Expr> values;    // of type index, over the dims
  std::vector<int> segments = {};  // of each value; empty: all of segment 0
  size_t inputs = 0;  // of the dims: the first ones are dimensions of inputs, at most largest_dim

  int segment_of(size_t value) const { return segments.empty() ? 0 : segments[value]; }
  int segment_count() const {
    return segments.empty() ? 1 : 1 + *std::max_element(segments.begin(), segments.end());
  }
};

// The same in f64, which is how every target computes and stores it: `index` is a mathematical
// integer, and no product of dimensions may wrap into a plausible size. Integers are exact below
// 2^53; what is larger stays larger, and what was computed from it and is not exact is NaN.
// `dims` and `values` of the result have type f64.
PlanFunction in_doubles(const PlanFunction& plan);

// The function's exported name: "plan", "plan_1", "plan_2", ...
inline std::string segment_name(int segment) {
  return segment == 0 ? "plan" : "plan_" + std::to_string(segment);
}

}  // namespace gossamer::codegen
