// Stages whose tensors no device can hold, or whose expressions nobody can compile.
#pragma once

#include <string>
#include <vector>

#include "graph/stage_builder.h"

namespace gossamer::graph {

// The nodes of an expression, shared ones each time, counted up to `limit`: a model may square a
// dimension again and again.
size_t size_of(const Expr& expr, size_t limit);
constexpr size_t max_extent_size = 1000;  // nodes of an expression for a dimension or host value

class SizeChecks {
 public:
  // No tensor has more than `most` elements.
  explicit SizeChecks(int64_t most) : most_(most) {}
  // An error, or, where dimensions decide, checks before the stage, which is the next entry.
  // `place` is what errors call the stage.
  Result<> check(const ops::Stage& stage, const std::string& place, StageBuilder& stages);
  // How many numbers of elements have checks; and the others' are gone, with the region of theirs.
  size_t counted() const { return counted_.size(); }
  void forget(size_t counted) { counted_.resize(counted); }

 private:
  Result<> check_extents(const std::vector<Expr>& extents, const std::string& place,
                         StageBuilder& stages);
  Result<> check_count(const ops::Stage& stage, const std::string& place, StageBuilder& stages);

  int64_t most_;
  std::vector<Expr> checked_;  // extents that have a check
  std::vector<Expr> counted_;  // numbers of elements that have one, in this region or before it
};

}  // namespace gossamer::graph
