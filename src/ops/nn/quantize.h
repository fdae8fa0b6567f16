// Quantised integers: what the families that compute on them share.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// The element of `parameter` (a scale or zero point) for `point`: a scalar, or one element along
// `axis`.
Expr parameter_at(const Builder& b, const Tensor& parameter, Point point, int axis);

// x - zero_point as `wide`, a stage `name`; without a zero point only the conversion. `axis` is
// where a zero point with one axis varies.
Result<Tensor> centered(Builder& b, const std::string& name, const Tensor& x,
                        const Tensor& zero_point, int axis, ir::DType wide = ir::DType::i32);

// What products of bytes are summed in where the sum becomes a byte again. Sums of integers below
// 2^24 are exact in f32, whose arithmetic is faster everywhere; beyond, an addition is off by at
// most what the conversion of an exact sum to f32 is, before it is scaled.
constexpr ir::DType product_sum = ir::DType::f32;

}  // namespace gossamer::ops
