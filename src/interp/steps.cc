#include "interp/steps.h"

namespace gossamer::interp {

using ir::Scalar;
using stages::Entry;
using stages::StepKind;

namespace {

// The position of the `otherwise` (where asked for) or `end` that belongs to the block opened at
// `open`.
size_t close_of(std::span<const Entry> program, size_t open, bool stop_at_otherwise) {
  int depth = 0;
  for (size_t i = open + 1; i < program.size(); ++i) {
    if (!program[i].step()) continue;
    switch (program[i].step()->kind) {
      case StepKind::branch:
      case StepKind::loop:
        ++depth;
        break;
      case StepKind::otherwise:
        if (depth == 0 && stop_at_otherwise) return i;
        break;
      case StepKind::end:
        if (depth-- == 0) return i;
        break;
      default:
        break;
    }
  }
  GS_CHECK(false, "a block without an end");
  return program.size();
}

}  // namespace

Result<> run_steps(std::span<const Entry> program, StepRunner& runner) {
  const Values none;
  const auto eval = [&](const ir::Expr& e) { return evaluate(e, runner.variables, none); };
  const auto number = [](int64_t value) { return Scalar::of_int(ir::DType::index, value); };
  for (size_t i = 0; i < program.size(); ++i) {
    if (const stages::Stage* stage = program[i].stage()) {
      GS_TRY(runner.run(*stage));
      continue;
    }
    const stages::Step& step = *program[i].step();
    switch (step.kind) {
      case StepKind::read: {
        for (size_t k = 0; k < step.variables.size(); ++k) {
          runner.variables[step.variables[k].get()] =
              number(runner.element(step.from.get(), static_cast<int64_t>(k)).as_int());
        }
        break;
      }
      case StepKind::copy:
        return fail("a graph placed on devices is not interpreted");
      case StepKind::check:
        if (!eval(step.condition).truthy()) return fail(step.message);
        break;
      case StepKind::set: {
        std::vector<Scalar> values;
        for (const ir::Expr& value : step.values) values.push_back(eval(value));
        for (size_t k = 0; k < values.size(); ++k)
          runner.variables[step.variables[k].get()] = values[k];
        break;
      }
      case StepKind::branch: {
        const size_t middle = close_of(program, i, true), end = close_of(program, i, false);
        if (eval(step.condition).truthy()) {
          GS_TRY(run_steps(program.subspan(i + 1, middle - i - 1), runner));
        } else if (middle < end) {
          GS_TRY(run_steps(program.subspan(middle + 1, end - middle - 1), runner));
        }
        i = end;
        break;
      }
      case StepKind::loop: {
        const size_t end = close_of(program, i, false);
        const int64_t rounds = eval(step.rounds).as_int();
        runner.variables[step.variables[0].get()] = number(0);
        for (int64_t round = 0; round < rounds; ++round) {
          runner.variables[step.variables[0].get()] = number(round);
          if (step.condition && !eval(step.condition).truthy()) break;
          GS_TRY(run_steps(program.subspan(i + 1, end - i - 1), runner));
          runner.variables[step.variables[0].get()] = number(round + 1);
        }
        i = end;
        break;
      }
      case StepKind::otherwise:
      case StepKind::end:
        break;
    }
  }
  return {};
}

}  // namespace gossamer::interp
