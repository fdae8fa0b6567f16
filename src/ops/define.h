// Small pieces that definitions share.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ops/builder.h"

namespace gossamer::ops {

using Numbers = std::vector<int64_t>;

// "GlobalAveragePool" -> "global_average_pool": the stage an operator of one stage has.
std::string stage_name(const Builder& b);

// The type sums of `dtype` are taken in: f32 for half types, its own otherwise.
DType accumulator(DType dtype);

// All present inputs from `first` up have the type of input `first`.
Result<> same_types(const Builder& b, int first = 0);

// An input has this shape: proved now, an error now, or a check. One that is absent has any.
Result<> has_shape(Builder& b, int input, const Shape& shape);

// Input `input` as [count]: exporters and ONNX Runtime give lists other shapes, too, such as
// [count, 1]. Errors: it has another number of elements.
Result<Tensor> as_list(Builder& b, int input, const Expr& count);

// An input broadcasts to this shape and does not change it.
Result<> broadcasts_to(Builder& b, int input, const Shape& shape);

// One compute stage over the broadcast of all inputs; `body` sees their elements in order. The
// output has `dtype`.
Result<> elementwise(Builder& b, DType dtype,
                     const std::function<Expr(std::span<const Expr>)>& body);

// An index stored in an integer tensor, as an expression of type index; negative ones count from
// the end of `extent`.
Expr wrapped_index(Expr stored, Expr extent);
// Same for an index known as an expression.
Expr wrapped(Expr at, Expr extent);

// Attributes `axes` or the host value of input `i`, normalised and sorted; all axes where absent or
// empty. `loose`, as ONNX Runtime is where it only asks whether an axis is named: one may be given
// twice, and that of a scalar is 0.
Result<std::vector<int>> axes_from_input(const Builder& b, int i, int rank, bool all_if_empty,
                                         bool loose = false);

// Whether input `i` is absent, or all its elements are numbers now.
bool known_numbers(const Builder& b, int i);

// Axes that input `i` names when the model runs: of each of `rank` axes, whether it is one.
Result<std::vector<Expr>> chosen_axes(Builder& b, int i, int rank);

// The extents of the axes that are not chosen, `count` in all, as a shape.
Shape others_of(const Builder& b, const Shape& extents, const std::vector<Expr>& chosen,
                size_t count);

inline Expr int32(int64_t value) { return ir::constant_int(DType::i32, value); }
inline Expr as_index(const Expr& stored) { return ir::cast(DType::index, stored); }

// Rounds to even and saturates into the integer type `to`, adding the zero point after rounding.
Expr quantized(Expr scaled, Expr zero_point_f32, DType to);

}  // namespace gossamer::ops
