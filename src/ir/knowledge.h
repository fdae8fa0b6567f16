// What is known at a place of a walk over statements, and what was simplified there.
#pragma once

#include "ir/build.h"
#include "ir/simplifier.h"

namespace gossamer::ir {

class Knowledge {
 public:
  explicit Knowledge(const Bounds& bounds) : simplifier_(std::in_place, bounds) {}

  Expr simplify(const Expr& e) { return simplifier_->expr(e); }
  bool prove(const Expr& condition) { return as_int(simplify(condition)) == 1; }
  Range range_of(const Expr& e) { return simplifier_->ranges().of(e); }
  int64_t multiple_of(const Expr& e) { return simplifier_->ranges().multiple_of(e); }
  const Bounds& bounds() const { return simplifier_->bounds(); }

  // From here on. Copies of an unrolled loop bind a variable again: what was simplified before is
  // forgotten where it is another value.
  void learn(const VarNode* var, Range range, int64_t multiple = 1) {
    if (simplifier_->learn(var, range, multiple)) return;
    Bounds changed = bounds();
    changed.set(var, range);
    changed.set_multiple(var, multiple);
    simplifier_.emplace(changed);
  }

 private:
  std::optional<Simplifier> simplifier_;
};

}  // namespace gossamer::ir
