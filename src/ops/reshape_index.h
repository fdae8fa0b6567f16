// Row-major index arithmetic between shapes of equal element count.
#pragma once

#include <vector>

#include "ir/simplify.h"
#include "stages/stage.h"

namespace gossamer::ops {

using ir::Expr;

// The point of `from` with the same row-major position as `point` of `to`. Axes are matched in
// groups of equal products, so [b, 4, 6] -> [b, 24] leaves b alone and divides only within the
// rest.
std::vector<Expr> same_position(const std::vector<Expr>& from, const std::vector<Expr>& to,
                                const std::vector<Expr>& point, const ir::Bounds& bounds);

Expr product(const std::vector<Expr>& extents);

// total / divisor where total is the product of `numerators` and divisor that of `divisors`;
// cancels equal factors.
Expr quotient(std::vector<Expr> numerators, std::vector<Expr> divisors, const ir::Bounds& bounds);

}  // namespace gossamer::ops
