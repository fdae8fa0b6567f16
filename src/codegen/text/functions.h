// Operations that a shading language lacks or gets wrong, defined in the IR.
#pragma once

#include <optional>

#include "ir/nodes.h"

namespace gossamer::codegen::text {

struct Function {
  std::string name;
  std::vector<ir::Var> params;
  ir::Expr body;
};

// Of the type of the operands (f32, i32 or index, any number of lanes). The body may use exp, log,
// sqrt, round, floor, trunc, abs, arithmetic, comparisons and bit casts, and other operations
// defined here. Errors relative to the true value, with exp and log exact: below 4e-7; sin, cos:
// absolute, for all x; tan: as sin over cos; pow grows with |y log x|.
std::optional<Function> define_function(ir::UnaryOp op, ir::Type type);
std::optional<Function> define_function(ir::BinaryOp op, ir::Type type);

}  // namespace gossamer::codegen::text
