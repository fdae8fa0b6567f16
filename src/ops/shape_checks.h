// What a definition asks of the types and shapes of its inputs.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// All present inputs from `first` up have the type of input `first`.
Result<> same_types(const Builder& b, int first = 0);

// An input has this shape: proved now, an error now, or a check. One that is absent has any.
Result<> has_shape(Builder& b, int input, const Shape& shape);

// Input `input` as [count]: exporters and ONNX Runtime give lists other shapes, too, such as
// [count, 1]. Errors: it has another number of elements.
Result<Tensor> as_list(Builder& b, int input, const Expr& count);

// An input broadcasts to this shape and does not change it.
Result<> broadcasts_to(Builder& b, int input, const Shape& shape);

}  // namespace gossamer::ops
