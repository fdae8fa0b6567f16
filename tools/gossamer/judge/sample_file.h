// Large expected outputs as some of their elements: {name, dims, dtype, index, value, mean, std,
// min, max}.
#pragma once

#include <filesystem>

#include "gossamer/judge/cases.h"
#include "gossamer/judge/compare.h"

namespace gossamer::command {

// Errors name the file.
Result<Expected> read_sample_file(const std::filesystem::path& path);

// The elements that the sample has, and mean, deviation, least and largest element of the whole
// tensor; all within `tolerance`, whose max|y| is that of the whole tensor.
Difference compare_sample(const ops::TensorData& actual, const Expected& expected,
                          Tolerance tolerance);

}  // namespace gossamer::command
