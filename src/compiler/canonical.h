// Kernels that do the same under other names are one kernel.
#pragma once

#include <string>

#include "ir/nodes.h"

namespace gossamer::compiler {

// The kernel over fresh buffers b0, b1, ... in the order of its parameters and scalars s0, s1, ...;
// dimension variables that the body uses become scalars, in the order of `dims`.
struct Canonical {
  ir::Kernel kernel;
  std::string text;              // equal texts, equal kernels
  std::vector<ir::Var> scalars;  // what the caller must pass: variables of the original
};
Canonical canonicalize(const ir::Kernel& kernel, const std::vector<ir::Var>& dims);

}  // namespace gossamer::compiler
