// Kernels that do the same under other names are one kernel.
#pragma once

#include <string>

#include "ir/nodes.h"

namespace gossamer::compiler {

// The kernel over fresh buffers b0, b1, ... in the order of its parameters and scalars s0, s1, ...;
// dimension variables that the body uses become scalars, in the order of `dims`.
struct Canonical {
  ir::Kernel kernel;
  std::string key;               // equal keys, equal kernels
  std::vector<ir::Var> scalars;  // what the caller must pass: variables of the original
};
Canonical canonicalize(const ir::Kernel& kernel, const std::vector<ir::Var>& dims);

// Passes and generators take scalars as not negative, which dimensions are. A variable that may be
// negative becomes the difference of two scalars that are not.
struct SignedParts {
  ir::Var positive, negative;         // what the kernel sees
  ir::Expr positive_of, negative_of;  // of the variable
};
SignedParts split_sign(const ir::Var& variable);
// The kernel with `variables` replaced by their parts, in bodies and shapes.
ir::Kernel with_parts(const ir::Kernel& kernel, const std::vector<ir::Var>& variables,
                      const std::vector<SignedParts>& parts);

}  // namespace gossamer::compiler
