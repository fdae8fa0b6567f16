// Does an output agree with the expected one, and how far apart are they?
#pragma once

#include <string>

#include "base/result.h"
#include "ops/opdef.h"

namespace gossamer::command {

// |x - y| <= absolute + relative * max|y| over the tensor; NaN agrees with NaN, infinities with
// themselves.
struct Tolerance {
  double absolute = 0, relative = 0;
};

// f32 and f64: 1e-5 + 1e-4 max|y| (f64 is computed in f32 on GPUs). f16: 1e-3 + 2e-3 (two units in
// the last place). bf16: 1e-2 + 1.6e-2 (two units). Integers and booleans: exact; a quantized
// output
// (`steps`): that many steps.
Tolerance tolerance_of(ir::DType dtype, int steps = 0);

struct Difference {
  bool agrees = true;
  double ratio = 0;      // largest |x - y| over what is allowed; 0 where both are equal
  double largest = 0;    // largest |x - y|
  std::string mismatch;  // shapes, types, or the worst element; empty where it agrees
};
Difference compare(const ops::TensorData& actual, const ops::TensorData& expected,
                   Tolerance tolerance);

// The `count` largest elements of a tensor, largest first, equal ones by index.
std::vector<int64_t> top_classes(const ops::TensorData& tensor, int count);

// Do the best `count` classes agree in order? Classes that the expected tensor scores equally may
// come in any order.
Difference compare_classes(const ops::TensorData& actual, const ops::TensorData& expected,
                           int count);

// A number in seven digits.
std::string number_text(double value);

}  // namespace gossamer::command
