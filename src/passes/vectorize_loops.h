#pragma once

#include <unordered_map>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::passes {

// Replaces every vectorized loop by vector expressions: its variable becomes a Ramp, what depends
// on it widens, the rest stays scalar and is broadcast where it meets a vector. Establishes
// no_vector_loops.
ir::Stmt vectorize_loops(const ir::Stmt& body);

// Lanes of vector expressions as scalar expressions, without a Lane node where the lanes are known.
// What vectors share, their lanes share.
class Lanes {
 public:
  ir::Expr of(const ir::Expr& vector, int lane);

 private:
  ir::Expr make(const ir::Expr& vector, int lane);

  std::unordered_map<const ir::ExprNode*, std::vector<ir::Expr>> known_;
  std::vector<ir::Expr> kept_;  // keys of known_ stay alive
};

}  // namespace gossamer::passes
