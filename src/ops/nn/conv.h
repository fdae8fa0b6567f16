// The convolution that Conv, ConvInteger and QLinearConv share.
#pragma once

#include "ops/nn/window.h"

namespace gossamer::ops {

using Finish =
    std::function<Expr(Point, Expr)>;  // a point of the output and the sum -> the element

// x [n, c, spatial...] with w [oc, c / group, kernel...] of one type; sums in accumulator(type),
// gives `dtype` through `finish` (a cast where empty). Zero padding.
Result<Tensor> convolve(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                        DType dtype, const Finish& finish);

}  // namespace gossamer::ops
