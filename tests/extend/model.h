// A case of an operator's entry as an ONNX model, with the outputs that its stages say.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ops/opdef.h"

namespace gossamer::extend {

struct Named {
  std::string name;
  ops::TensorData data;
};

struct Example {
  std::string model;  // ONNX bytes
  std::vector<Named> inputs, expected;
};

// With `neighbours`, built-in operators stand before and after it, and values that the case spells
// out are initializers; else these are inputs too, unless they are integers. Errors: what the
// reader or the definition say.
Result<Example> make_example(const ops::OpDef& def, const ops::Case& test,
                             const ops::Catalog& catalog, bool neighbours);

}  // namespace gossamer::extend
