#include "compiler/planner.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::compiler {

Planner::Planner(const std::vector<graph::Dim>& dims) {
  for (const graph::Dim& dim : dims) function_.dims.push_back(dim.var);
}

package::Number Planner::number(const ir::Expr& expr) {
  ir::Bounds bounds;
  for (const ir::Var& dim : function_.dims) bounds.set(dim.get(), {0, 1 << 30});
  const ir::Expr simple = ir::simplify(expr, bounds);
  if (const auto known = ir::as_int(simple)) return package::Number(*known);
  for (size_t i = 0; i < function_.values.size(); ++i) {
    if (ir::equal(function_.values[i], simple))
      return package::Number::plan(static_cast<int64_t>(i));
  }
  function_.values.push_back(simple);
  return package::Number::plan(static_cast<int64_t>(function_.values.size()) - 1);
}

}  // namespace gossamer::compiler
