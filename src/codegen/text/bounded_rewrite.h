// Rewriting statements with what is known of the variables in scope.
#pragma once

#include <functional>

#include "ir/knowledge.h"
#include "ir/nodes.h"

namespace gossamer::codegen::text {

struct BoundedRewriter {
  // A statement's own expression (a whole index, value, condition or extent); null keeps it.
  std::function<ir::Expr(const ir::Expr&, ir::Knowledge&)> expr;
  // A Store, before its expressions; a non-null answer stands.
  std::function<ir::Stmt(const ir::Store&, ir::Knowledge&)> store;
};
// Bounds: loop variables by their extents, Let variables by their values, `bounds` for the rest.
ir::Stmt rewrite_bounded(const ir::Stmt&, const ir::Bounds& bounds, const BoundedRewriter&);

// Dimensions are not negative.
ir::Bounds bounds_of_scalars(const ir::Kernel&);

}  // namespace gossamer::codegen::text
