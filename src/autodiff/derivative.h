// Reverse-mode derivatives of scalar expressions: what stages' gradients are made of.
#pragma once

#include <functional>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::autodiff {

using ir::Expr;

// `value` where `mask` holds, else 0; a null mask holds everywhere. Kept apart so that a derivative
// that is infinite in an arm not taken is never multiplied by 0.
struct Masked {
  Expr mask, value;
};

Expr conjunction(Expr a, Expr b);  // null ones hold
Expr unmasked(const Masked& masked);
bool is_zero(const Expr&);    // the number 0 of a float type
Expr times(Expr a, Expr b);   // folds factors 0 and 1
Expr negated(const Expr& a);  // folds numbers and double negation

// An expression and its cotangent: the derivative of some scalar with respect to it.
struct Root {
  Expr expr;
  Masked cotangent;
  Expr known = {};  // a cheaper expression of the same value, such as a load of what is stored
};
struct LeafCotangent {
  Expr leaf;
  Masked cotangent;
};

// The cotangents of the leaves that `roots` are made of, summed over the roots, in order of first
// appearance. `wanted` says which loads and variables are leaves; loads of one structure are one.
// Integers and comparisons have no derivative, nor have conversions to them; floor, ceil, round and
// trunc have 0. At kinks: |x| has 0 at 0, max and min against a number pass nothing at equality
// (ReLU has 0 at 0), against anything else half to each side; an arm of a select has what its
// condition gives it.
std::vector<LeafCotangent> cotangents_of(const std::vector<Root>& roots,
                                         const std::function<bool(const Expr&)>& wanted);

}  // namespace gossamer::autodiff
