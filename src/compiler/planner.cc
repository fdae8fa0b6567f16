#include "compiler/planner.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::compiler {

Planner::Planner(const std::vector<stages::Dim>& dims, const std::vector<ir::Var>& variables) {
  for (const stages::Dim& dim : dims) function_.dims.push_back(dim.var);
  known_before_ = function_.inputs = dims.size();
  function_.dims.insert(function_.dims.end(), variables.begin(), variables.end());
}

int Planner::segment_of(const ir::Expr& expr) const {
  bool early = true;
  ir::visit(expr, [&](const ir::Expr& e) {
    const auto* var = ir::as<ir::VarNode>(e);
    for (size_t i = known_before_; var && i < function_.dims.size(); ++i)
      early = early && function_.dims[i].get() != var;
    return early;
  });
  return early ? 0 : segment_;
}

void Planner::number_segments(const std::vector<int>& numbers) {
  for (int& segment : function_.segments) segment = numbers[static_cast<size_t>(segment)];
}

package::Number Planner::number(const ir::Expr& expr, int segment) {
  ir::Bounds bounds;
  for (size_t i = 0; i < known_before_; ++i)
    bounds.set(function_.dims[i].get(), {0, codegen::largest_dim});
  const ir::Expr simple = ir::simplify(expr, bounds);
  if (const auto known = ir::as_int(simple)) return package::Number(*known);
  if (segment_of(simple) == 0) segment = 0;
  for (size_t i = 0; i < function_.values.size(); ++i) {
    if (function_.segments[i] == segment && ir::equal(function_.values[i], simple))
      return package::Number::plan(static_cast<int64_t>(i));
  }
  function_.values.push_back(simple);
  function_.segments.push_back(segment);
  return package::Number::plan(static_cast<int64_t>(function_.values.size()) - 1);
}

}  // namespace gossamer::compiler
