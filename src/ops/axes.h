// Axes and indices that attributes or tensors give.
#pragma once

#include <vector>

#include "ops/builder.h"

namespace gossamer::ops {

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

}  // namespace gossamer::ops
