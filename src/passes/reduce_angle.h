// Angles to the first octant, for the functions of trigonometry.
#pragma once

#include "passes/math_functions.h"

namespace gossamer::passes::math {

// x = quadrant pi/2 + rest with |rest| <= pi/4; the rest is NaN where x is not finite.
struct Angle {
  ir::Expr quadrant;  // integers as wide as x
  ir::Expr rest;
};
Angle reduce_angle(const ir::Expr& x, const Primitives& target);

}  // namespace gossamer::passes::math
