// Stages of one result a point, their names and their types.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "ops/builder.h"

namespace gossamer::ops {

// "GlobalAveragePool" -> "global_average_pool": the stage an operator of one stage has.
std::string stage_name(const Builder& b);

// The type sums of `dtype` are taken in: f32 for half types, its own otherwise.
DType accumulator(DType dtype);

// One compute stage over the broadcast of all inputs; `body` sees their elements in order. The
// output has `dtype`.
Result<> elementwise(Builder& b, DType dtype,
                     const std::function<Expr(std::span<const Expr>)>& body);

// Rounds to even and saturates into the integer type `to`, adding the zero point after rounding.
Expr quantized(Expr scaled, Expr zero_point_f32, DType to);

}  // namespace gossamer::ops
