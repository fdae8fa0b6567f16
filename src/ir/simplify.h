// Algebra over index expressions and constants: canonical sums, floordiv/floormod by ranges,
// min/max, comparisons.
#pragma once

#include <limits>
#include <unordered_map>

#include "ir/nodes.h"

namespace gossamer::ir {

struct Range {  // inclusive
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
};

// What is known of variables while simplifying: ranges of loop variables (a dimension is at least 0
// or 1), and divisibility (a dimension known to be a multiple of 8).
class Bounds {
 public:
  void set(const VarNode* var, Range range) { ranges_[var] = range; }
  void set_multiple(const VarNode* var, int64_t factor) { multiples_[var] = factor; }
  // 0 <= var < extent, where the extent need not be a number.
  void set_extent(const VarNode* var, Expr extent) { extents_[var] = std::move(extent); }
  // The same where a loop over `var` runs: dimensions and quotients whose product the extent is are
  // positive there.
  void set_axis(const VarNode* var, const Expr& extent);
  Range of(const Expr&) const;
  int64_t multiple_of(const Expr&)
      const;  // the largest known k with expr % k == 0 (1 if nothing is known, 0 for 0)

 private:
  friend class RangeFinder;
  friend class Simplifier;
  std::unordered_map<const VarNode*, Range> ranges_;
  std::unordered_map<const VarNode*, int64_t> multiples_;
  std::unordered_map<const VarNode*, Expr> extents_;
  std::vector<Expr> positive_;  // no variables
};

// Two index expressions that are equal as polynomials simplify to the same text.
Expr simplify(const Expr&, const Bounds& bounds = {});
// Simplifies every expression, with ranges from the enclosing loops and Lets; drops loops of extent
// 0 and 1, empty blocks, branches on constants.
Stmt simplify(const Stmt&, Bounds bounds = {});

// True only if provable.
bool prove(const Expr& condition, const Bounds& bounds = {});
bool prove_equal(const Expr&, const Expr&, const Bounds& bounds = {});

}  // namespace gossamer::ir
