#pragma once

#include <vector>

#include "ir/nodes.h"

namespace gossamer::ir {

// All loads of an expression, in order of appearance, each structure once.
std::vector<const Load*> loads_of(const Expr& expr);
std::vector<const Load*> loads_of(const std::vector<Expr>& exprs);

}  // namespace gossamer::ir
