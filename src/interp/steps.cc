#include "interp/steps.h"

namespace gossamer::interp {

using ir::Scalar;
using ops::Stage;
using ops::StageKind;
using ops::StepKind;

namespace {

// The position of the `otherwise` (where asked for) or `end` that belongs to the block opened at
// `open`.
size_t close_of(std::span<const Stage> stages, size_t open, bool stop_at_otherwise) {
  int depth = 0;
  for (size_t i = open + 1; i < stages.size(); ++i) {
    if (stages[i].kind != StageKind::step) continue;
    switch (stages[i].step) {
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
  return stages.size();
}

}  // namespace

Result<> run_steps(std::span<const Stage> stages, StepRunner& runner) {
  const Values none;
  const auto eval = [&](const ir::Expr& e) { return evaluate(e, runner.variables, none); };
  const auto number = [](int64_t value) { return Scalar::of_int(ir::DType::index, value); };
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    if (stage.kind != StageKind::step) {
      GS_TRY(runner.run(stage));
      continue;
    }
    switch (stage.step) {
      case StepKind::read: {
        for (size_t k = 0; k < stage.axes.size(); ++k) {
          runner.variables[stage.axes[k].get()] =
              number(runner.element(stage.initial.get(), static_cast<int64_t>(k)).as_int());
        }
        break;
      }
      case StepKind::copy:
        return fail("a graph placed on devices is not interpreted");
      case StepKind::check:
        if (!eval(stage.condition).truthy()) return fail(stage.name);
        break;
      case StepKind::set: {
        std::vector<Scalar> values;
        for (const ir::Expr& value : stage.values) values.push_back(eval(value));
        for (size_t k = 0; k < values.size(); ++k)
          runner.variables[stage.axes[k].get()] = values[k];
        break;
      }
      case StepKind::branch: {
        const size_t middle = close_of(stages, i, true), end = close_of(stages, i, false);
        if (eval(stage.condition).truthy()) {
          GS_TRY(run_steps(stages.subspan(i + 1, middle - i - 1), runner));
        } else if (middle < end) {
          GS_TRY(run_steps(stages.subspan(middle + 1, end - middle - 1), runner));
        }
        i = end;
        break;
      }
      case StepKind::loop: {
        const size_t end = close_of(stages, i, false);
        const int64_t rounds = eval(stage.extents[0]).as_int();
        runner.variables[stage.axes[0].get()] = number(0);
        for (int64_t round = 0; round < rounds; ++round) {
          runner.variables[stage.axes[0].get()] = number(round);
          if (stage.condition && !eval(stage.condition).truthy()) break;
          GS_TRY(run_steps(stages.subspan(i + 1, end - i - 1), runner));
          runner.variables[stage.axes[0].get()] = number(round + 1);
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
