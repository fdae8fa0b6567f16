// The matrix product that MatMul, MatMulInteger and QLinearMatMul share.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// numpy.matmul of a [..., m, k] and b [..., k, n] of one type: one sum over k in accumulator(type).
// `finish(point, sum)` gives the element of `dtype`; a cast where empty.
Result<Tensor> matrix_product(Builder& b, const std::string& name, const Tensor& left,
                              const Tensor& right, DType dtype,
                              const std::function<Expr(Point, Expr)>& finish);

}  // namespace gossamer::ops
