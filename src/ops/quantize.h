// Quantised integers: what the families that compute on them share.
#pragma once

#include "ops/define.h"

namespace gossamer::ops {

// The element of `parameter` (a scale or zero point) for `point`: a scalar, or one element along
// `axis`.
Expr parameter_at(const Builder& b, const Tensor& parameter, Point point, int axis);

// i32(x) - i32(zero_point), a stage `name`; without a zero point only the conversion. `axis` is
// where a zero point with one axis varies.
Result<Tensor> centered(Builder& b, const std::string& name, const Tensor& x,
                        const Tensor& zero_point, int axis);

}  // namespace gossamer::ops
