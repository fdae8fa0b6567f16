#include "stages/step.h"

#include "ir/print.h"

namespace gossamer::stages {
namespace {

Step of_kind(StepKind kind) {
  Step step;
  step.kind = kind;
  return step;
}

}  // namespace

Step::Step() = default;
Step::Step(const Step&) = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(const Step&) = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

Step read_step(ir::Buffer tensor, std::vector<ir::Var> elements) {
  Step step = of_kind(StepKind::read);
  step.from = std::move(tensor);
  step.variables = std::move(elements);
  return step;
}

Step check_step(ir::Expr condition, std::string message, ir::Expr elements) {
  Step step = of_kind(StepKind::check);
  step.condition = std::move(condition);
  step.message = std::move(message);
  step.elements = std::move(elements);
  return step;
}

Step set_step(std::vector<ir::Var> variables, std::vector<ir::Expr> values) {
  GS_CHECK(variables.size() == values.size(), "a value a variable");
  Step step = of_kind(StepKind::set);
  step.variables = std::move(variables);
  step.values = std::move(values);
  return step;
}

Step branch_step(ir::Expr condition) {
  Step step = of_kind(StepKind::branch);
  step.condition = std::move(condition);
  return step;
}

Step otherwise_step() { return of_kind(StepKind::otherwise); }

Step loop_step(ir::Var counter, ir::Expr rounds, ir::Expr condition) {
  Step step = of_kind(StepKind::loop);
  step.variables = {std::move(counter)};
  step.rounds = std::move(rounds);
  step.condition = std::move(condition);
  return step;
}

Step end_step() { return of_kind(StepKind::end); }

Step copy_step(ir::Buffer from, ir::Buffer to) {
  Step step = of_kind(StepKind::copy);
  step.from = std::move(from);
  step.to = std::move(to);
  return step;
}

std::string print(const Step& step) {
  switch (step.kind) {
    case StepKind::read: {
      std::string names;
      for (const ir::Var& var : step.variables) names += (names.empty() ? "" : ", ") + var->name;
      return cat("read ", names, " from ", step.from->name, "\n");
    }
    case StepKind::check:
      return cat("check ", ir::print(step.condition), ": ", step.message, "\n");
    case StepKind::set: {
      std::string text = "set";
      for (size_t i = 0; i < step.variables.size(); ++i) {
        text += cat(i ? ", " : " ", step.variables[i]->name, " = ", ir::print(step.values[i]));
      }
      return text + "\n";
    }
    case StepKind::branch:
      return cat("if ", ir::print(step.condition), "\n");
    case StepKind::otherwise:
      return "else\n";
    case StepKind::loop:
      return cat("loop ", step.variables[0]->name, " < ", ir::print(step.rounds),
                 step.condition ? cat(" while ", ir::print(step.condition)) : "", "\n");
    case StepKind::copy:
      return cat("copy ", step.from->name, " to ", step.to->name, "\n");
    case StepKind::end:
      return "end\n";
  }
  return "?\n";
}

}  // namespace gossamer::stages
