// Numbers as text and back, for Cast.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// Integers in decimal; booleans as True and False; floats with the fewest digits that read back as
// the same number, as numpy prints them: 0.1, 16777216.0, 1e-05, 1.5e+20, inf, nan. Small floats
// print as the f32 they are.
Tensor text_of_numbers(Builder& b, const Tensor& x);

// Plain or with an exponent, "inf" and "nan" in any case; what is no number is undefined. Floats
// are rounded once (from the first 19 digits); integers end at the first character that is no digit
// and wrap.
Tensor numbers_of_text(Builder& b, const Tensor& x, DType to);

}  // namespace gossamer::ops
