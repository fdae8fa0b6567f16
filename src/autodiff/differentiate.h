// Gradients of programs: adjoint stages in reverse order.
#pragma once

#include <span>
#include <vector>

#include "ops/builder.h"

namespace gossamer::autodiff {

// d sum(y * seed) / d x for each x.
struct Gradients {
  ops::Tensor y;
  ops::Tensor seed;  // of y's type and shape; null: ones
  std::vector<ops::Tensor> xs;
  // Each x is a variable of its own: y changes with one while the others stay, also where they are
  // made of it.
  bool independent = false;
};

// Makes stages in `builder` behind a program, whose tensors they read: one gradient for each x, of
// its type and shape; null where y does not hang on it, or only through integers. Errors: a stage
// between them that has no gradient, by the node that it came from.
Result<std::vector<ops::Tensor>> differentiate(ops::Builder& builder,
                                               std::span<const stages::Entry> program,
                                               const Gradients& wanted);

}  // namespace gossamer::autodiff
