// Conversions between element types as ONNX's Cast has them, for all that convert.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// The attributes `saturate` and `round_mode`: small floats only, see Cast.
struct Conversion {
  bool saturate = true;
  enum Rounding : uint8_t { up, down, nearest } rounding = up;  // to f8e8m0
};
Result<Conversion> conversion_of(const Builder& b);  // by those attributes of the node

// A saturating conversion rounding up is the IR's cast; others are arithmetic around it.
Expr converted(const Expr& x, DType to, const Conversion& conversion = {});

}  // namespace gossamer::ops
