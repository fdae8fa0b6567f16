// The numbers of a weight, for a person who looks for zeros, outliers and NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace gossamer::inspect {

struct Histogram {
  int64_t elements = 0;
  int64_t seen = 0;  // evenly spread elements that the rest is about; all of a small tensor
  int64_t zeros = 0, not_finite = 0;
  double least = 0, most = 0, mean = 0, deviation = 0;  // of the finite ones
  std::vector<int64_t> bins;  // of equal width, from `least` to `most`; empty: there is one value
};

// `bytes`: the elements as ConstantSource has them. None of a tensor of strings or without
// elements, or where bytes are missing.
std::optional<Histogram> histogram_of(const stages::ConstantSource& source,
                                      std::span<const std::byte> bytes);

}  // namespace gossamer::inspect
