// Numbers of the package that depend on dimensions: known ones stay numbers, others become values
// of the plan function.
#pragma once

#include "codegen/plan_function.h"
#include "graph/stage_graph.h"
#include "package/package.h"

namespace gossamer::compiler {

class Planner {
 public:
  explicit Planner(const std::vector<graph::Dim>& dims);
  package::Number number(const ir::Expr& expr);
  const codegen::PlanFunction& function() const { return function_; }
  std::vector<ir::Var> dims() const { return function_.dims; }

 private:
  codegen::PlanFunction function_;
};

}  // namespace gossamer::compiler
