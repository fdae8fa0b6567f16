// Comparing strings.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// The strings of a tensor that a stage sees at its points: by default as NumPy broadcasts.
struct StringAt {
  Tensor text;
  // From a point of the stage to one of the tensor.
  std::function<std::vector<Expr>(Point)> place = {};

  Expr length(const Builder& b, Point point) const;
  // The byte at `at`, which must be less than the width.
  Expr byte(const Builder& b, Point point, const Expr& at) const;
};

// [shape], boolean: whether the two are equal at each point.
Tensor equal_strings(Builder& b, std::string name, const Shape& shape, const StringAt& left,
                     const StringAt& right);

// [x.shape, keys], boolean: whether each string equals each of a vector.
Tensor equal_pairs(Builder& b, std::string name, const Tensor& x, const Tensor& keys);

// [x.shape], i32: the first of `keys` (a vector of x's type) that equals each element, or as many
// as there are. A float that is no number equals itself.
Tensor place_among(Builder& b, const std::string& name, const Tensor& x, const TensorData& keys);

}  // namespace gossamer::ops
