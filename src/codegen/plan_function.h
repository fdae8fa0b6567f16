// The plan function of a package: scalar arithmetic from dimensions to sizes, ranges and scalars.
#pragma once

#include <vector>

#include "ir/nodes.h"

namespace gossamer::codegen {

struct PlanFunction {
  std::vector<ir::Var> dims;     // of type index, in the order of the manifest's dims
  std::vector<ir::Expr> values;  // of type index, over the dims
};

}  // namespace gossamer::codegen
