// The float types of a byte or less: ONNX's float8, float6 and float4 types and what a Cast to them
// does (https://onnx.ai/onnx/technical/float8.html).
#pragma once

#include <cstdint>

#include "ir/type.h"

namespace gossamer::ir {

// A code is sign, exponent, mantissa from its highest bit down; the smallest exponent has
// denormals. f8e8m0 is an exponent alone: 2^(code - 127), no sign, no zero; 0xff is its NaN.
struct SmallFloat {
  int mantissa;        // bits
  int bias;            // of the exponent
  uint8_t sign;        // the bit; 0: none
  uint8_t largest;     // code of the largest finite number
  uint8_t nan;         // what a NaN becomes; negative zero in those of six and four bits
  uint8_t infinity;    // its code; 0: the type has none
  bool unsigned_zero;  // the code of negative zero is the NaN
};
const SmallFloat& small_float(DType);  // of small floats only

double from_small(DType, uint8_t code);
// Rounds to nearest even and saturates; infinity stays where the type has one. f8e8m0 rounds up
// what f32 has of the number, whose sign is lost.
uint8_t to_small(DType, double value);

}  // namespace gossamer::ir
