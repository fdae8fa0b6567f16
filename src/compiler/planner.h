// Numbers of the package that depend on dimensions: known ones stay numbers, others become values
// of the plan function.
#pragma once

#include "codegen/plan_function.h"
#include "package/package.h"
#include "stages/stage_graph.h"

namespace gossamer::compiler {

// Values that only depend on dimensions of inputs belong to segment 0 of the plan; others to the
// segment that is open when they are asked for (docs/specs/host.md).
class Planner {
 public:
  // `variables`: those that steps set.
  Planner(const std::vector<stages::Dim>& dims, const std::vector<ir::Var>& variables);
  package::Number number(const ir::Expr& expr) { return number(expr, segment_); }
  package::Number number(const ir::Expr& expr, int segment);
  int open_segment() { return segment_ = ++last_segment_; }
  int segment() const { return segment_; }
  int last_segment() const { return last_segment_; }
  // Gives segments other numbers: numbers[old] is the new one.
  void number_segments(const std::vector<int>& numbers);
  // The segment that a value asked for now would belong to.
  int segment_of(const ir::Expr& expr) const;
  const codegen::PlanFunction& function() const { return function_; }
  const std::vector<ir::Var>& dims() const { return function_.dims; }  // and variables

 private:
  codegen::PlanFunction function_;
  size_t known_before_ = 0;  // of the dims: those of inputs
  int segment_ = 0, last_segment_ = 0;
};

}  // namespace gossamer::compiler
