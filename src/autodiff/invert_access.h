// Which points of a domain read an element: the inverse of a load's index.
#pragma once

#include <optional>
#include <vector>

#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/stage.h"

namespace gossamer::autodiff {

using ir::Expr;
using ir::Var;

// Points of the axes of a stage, those of a reduction among them.
struct Domain {
  std::vector<Var> axes;
  std::vector<Expr> extents;
};

// `bounds` and those of the domain's axes.
ir::Bounds with_axes(ir::Bounds bounds, const Domain& domain);

// For the element at `element` (a variable an index): the points that read it are those where
// `axes` have these expressions, one for each value of `rest` for which all `guards` hold.
struct Inverse {
  std::vector<Expr> element;  // 0 along an extent of 1, else a variable
  ir::VarMap axes;            // of the domain
  Domain rest;
  std::vector<Expr> guards;
  ir::Bounds bounds;  // of `element` and `rest`
};

// Indices that are sums of axes times numbers, and their quotients and remainders by numbers, can
// be inverted: permutations, slices, broadcasts, windows with strides and dilations, groups. Those
// that read data, or are cut off at an edge, cannot: std::nullopt. `shape`: of the buffer that is
// read.
// `exact`: axes of strides are split, so that few guards fail; else they stay whole.
std::optional<Inverse> invert(const std::vector<Expr>& indices, const std::vector<Expr>& shape,
                              const Domain& domain, const ir::Bounds& bounds, bool exact = true);

}  // namespace gossamer::autodiff
