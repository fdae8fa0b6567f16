// Reads what print.h writes: parse(print(k)) is equal to k up to the identity of variables.
#pragma once

#include <string_view>

#include "ir/nodes.h"

namespace gossamer::ir {

Result<Kernel> parse_kernel(std::string_view text);
Result<Expr> parse_expr(std::string_view text, const std::vector<Var>& vars = {},
                        const std::vector<Buffer>& buffers = {});

}  // namespace gossamer::ir
