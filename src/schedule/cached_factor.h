// A factor of a sum's products in memory of the invocation, computed once for all of its rows.
#pragma once

#include "schedule/coordinates.h"
#include "schedule/nest.h"
#include "stages/stage.h"

namespace gossamer::schedule {

class CachedFactor {
 public:
  // `nest.cached` must be set.
  CachedFactor(const stages::Stage& stage, const Nest& nest, Coordinates& coordinates);

  // The stage with the factor read from that memory.
  const stages::Stage& stage() const { return stage_; }
  int64_t bytes() const;
  // Whether the memory holds all steps of the reduction; null: it always does.
  ir::Expr fits() const;
  // The body with the memory, filled before it.
  ir::Stmt around(const ir::Stmt& body) const;

 private:
  const Nest& nest_;
  stages::Stage stage_;
  ir::Expr factor_;              // over the loops' variables and `step_`
  std::vector<LoopId> columns_;  // loops that tell its columns apart, outermost first
  ir::Var step_;
  ir::Expr column_;
  ir::Expr length_;  // steps of the reduction
  int64_t count_ = 1, steps_ = 0;
  ir::Buffer memory_;  // [steps_, count_]
};

}  // namespace gossamer::schedule
