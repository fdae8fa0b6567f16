// What the variables of a nest say about the loops that it was made from, the stage's axes first.
#pragma once

#include <utility>
#include <vector>

#include "ir/nodes.h"
#include "schedule/nest.h"

namespace gossamer::schedule {

class Coordinates {
 public:
  explicit Coordinates(const Nest& nest);

  // Over variables of standing loops and of `launch`.
  ir::Expr of(LoopId loop);
  std::vector<ir::Expr> of(const std::vector<LoopId>& loops);

  // What bound loops say of the loops fused into them, to be computed once, in this order.
  const std::vector<std::pair<ir::Var, ir::Expr>>& launch() const { return launch_; }

 private:
  ir::Expr joined(const Split& split);
  std::vector<ir::Expr> parts(const Fuse& fuse);

  const Nest& nest_;
  std::vector<ir::Expr> values_;  // by loop
  std::vector<std::pair<ir::Var, ir::Expr>> launch_;
};

}  // namespace gossamer::schedule
