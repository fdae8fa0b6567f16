// The case of strings, in a run.
#pragma once

#include "ops/builder.h"
#include "ops/text/letter_case.h"

namespace gossamer::ops {

// The same strings in upper or lower case.
Tensor in_case(Builder& b, const std::string& name, const Tensor& x, LetterCase to);

}  // namespace gossamer::ops
