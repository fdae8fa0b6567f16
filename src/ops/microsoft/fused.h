// What the entries of ONNX Runtime's own domains share.
#pragma once

#include <initializer_list>

#include "ops/builder.h"

namespace gossamer::ops {

constexpr std::string_view microsoft = "com.microsoft";

// All of these inputs that are present have one type.
Result<> one_type(const Builder& b, std::initializer_list<int> inputs);

// x after what the attributes `activation`, `activation_params` (or `activation_alpha` and
// `activation_beta`) name; x itself where that is empty.
Result<Tensor> activated(Builder& b, const Tensor& x);

// Number `at` of a row of packed ones of 1 to 4 or 8 bits each, the first in the lowest bits, as
// i32; `row` are the indices before the last.
Expr packed_number(const Tensor& bytes, std::vector<Expr> row, const Expr& at, int64_t bits);

// The attribute `num_heads`; where it is 0, how many heads x [batch, length, heads * width] has if
// all of each turns by `cosines` [positions, width / 2].
Result<int64_t> rotated_heads(Builder& b, const Tensor& x, const Tensor& cosines);

// [n, ..., c] of [n, c, ...], or the other way round without `last`.
Result<Tensor> with_channels(Builder& b, const Tensor& x, bool last);

// The attributes of this node that `names` lists, for a call.
Attributes passed_on(const Builder& b, std::initializer_list<std::string_view> names);

}  // namespace gossamer::ops
