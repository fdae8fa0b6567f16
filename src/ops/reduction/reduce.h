// Reductions over whole axes: what reductions, softmax and normalisations share.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// Joins `term(point of x)` over `axes` (sorted) of x; with `keep`, they stay with extent 1. `last`
// gives the element of `dtype` from the joined value; a cast where empty.
Tensor reduce_axes(Builder& b, std::string name, const Tensor& x, const std::vector<int>& axes,
                   bool keep, Builder::Join join, DType dtype,
                   const std::function<Expr(Point)>& term,
                   const std::function<Expr(Expr)>& last = {});

// Where the largest (or smallest) element lies along `axis`, as i64.
Tensor best_index(Builder& b, std::string name, const Tensor& x, int axis, bool keep, bool smallest,
                  bool last_of_equals);

// Whether x comes before y among the largest (or smallest) first: NaN is greater than numbers.
Expr comes_before(const Expr& x, const Expr& y, bool largest);

// The number of elements that `axes` of x span.
Expr count_of(const Builder& b, const Tensor& x, const std::vector<int>& axes);

}  // namespace gossamer::ops
