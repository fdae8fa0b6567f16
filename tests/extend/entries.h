// Operators of a domain that the compiler has never heard of: each is one entry in one file.
#pragma once

#include <string_view>

#include "ops/opdef.h"

namespace gossamer::extend {

inline constexpr std::string_view domain = "demo";

ops::OpDef smooth_step();             // elementwise.cc
ops::OpDef peak_to_peak();            // reduction.cc
ops::OpDef morphological_gradient();  // windowed.cc

}  // namespace gossamer::extend
