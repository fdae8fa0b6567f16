#include "ops/steps.h"

#include <algorithm>

#include "ir/build.h"

namespace gossamer::ops {
namespace {

Stage step(StepKind kind) {
  Stage stage;
  stage.kind = StageKind::step;
  stage.step = kind;
  return stage;
}

}  // namespace

Stage read_step(Buffer tensor, std::vector<Var> elements) {
  Stage stage = step(StepKind::read);
  stage.initial = std::move(tensor);
  stage.axes = std::move(elements);
  return stage;
}

Stage check_step(Expr condition, std::string message) {
  Stage stage = step(StepKind::check);
  stage.condition = std::move(condition);
  stage.name = std::move(message);
  return stage;
}

Stage set_step(std::vector<Var> variables, std::vector<Expr> values) {
  GS_CHECK(variables.size() == values.size(), "a value a variable");
  Stage stage = step(StepKind::set);
  stage.axes = std::move(variables);
  stage.values = std::move(values);
  return stage;
}

Stage branch_step(Expr condition) {
  Stage stage = step(StepKind::branch);
  stage.condition = std::move(condition);
  return stage;
}

Stage otherwise_step() { return step(StepKind::otherwise); }

Stage loop_step(Var counter, Expr rounds, Expr condition) {
  Stage stage = step(StepKind::loop);
  stage.axes = {std::move(counter)};
  stage.extents = {std::move(rounds)};
  stage.condition = std::move(condition);
  return stage;
}

Stage end_step() { return step(StepKind::end); }

Stage copy_step(Buffer from, Buffer to) {
  Stage stage = step(StepKind::copy);
  stage.name = to->name;
  stage.initial = std::move(from);
  stage.output = std::move(to);
  return stage;
}

Stage copy_stage(std::string name, const Buffer& from, const Buffer& to) {
  Stage stage;
  stage.name = std::move(name);
  stage.output = to;
  stage.extents = to->shape;
  std::vector<Expr> point;
  for (size_t i = 0; i < to->shape.size(); ++i) {
    stage.axes.push_back(ir::var(cat("i", i)));
    point.push_back(stage.axes.back());
  }
  stage.result = ir::load(from, std::move(point));
  return stage;
}

std::vector<Stage> advance_states(const std::vector<Buffer>& states,
                                  const std::vector<Buffer>& next) {
  std::vector<Stage> copies, stages;
  for (size_t i = 0; i < states.size(); ++i) {
    if (next[i].same(states[i])) continue;
    Buffer from = next[i];
    // Another state may have its next value by then.
    if (std::ranges::any_of(states, [&](const Buffer& state) { return state.same(from); })) {
      from = ir::buffer(states[i]->name + ".next", states[i]->dtype, next[i]->shape);
      stages.push_back(copy_stage(from->name, next[i], from));
    }
    copies.push_back(copy_stage(states[i]->name + ".step", from, states[i]));
  }
  std::ranges::move(copies, std::back_inserter(stages));
  return stages;
}

Stage row_stage(std::string name, const Buffer& all, const Expr& round, const Buffer& row) {
  Stage stage = copy_stage(std::move(name), row, all);
  stage.kind = StageKind::scatter;
  stage.extents = row->shape;
  stage.axes.clear();
  std::vector<Expr> point;
  for (size_t i = 0; i < row->shape.size(); ++i) {
    stage.axes.push_back(ir::var(cat("i", i)));
    point.push_back(stage.axes.back());
  }
  stage.result = {};
  stage.values = {ir::load(row, point)};
  stage.target = {round};
  stage.target.insert(stage.target.end(), point.begin(), point.end());
  return stage;
}

std::vector<Var> variables_of(const std::vector<Stage>& stages) {
  std::vector<Var> variables;
  for (const Stage& stage : stages) {
    if (stage.kind != StageKind::step) continue;
    for (const Var& var : stage.axes) {
      if (std::ranges::none_of(variables, [&](const Var& known) { return known.same(var); }))
        variables.push_back(var);
    }
  }
  return variables;
}

std::vector<int> blocks_of(const std::vector<Stage>& stages) {
  std::vector<int> blocks, open{0};
  int count = 0;
  for (const Stage& stage : stages) {
    const bool closes = is_step(stage, StepKind::end) || is_step(stage, StepKind::otherwise);
    if (closes && open.size() > 1) open.pop_back();
    blocks.push_back(open.back());
    if (is_step(stage, StepKind::branch) || is_step(stage, StepKind::loop) ||
        is_step(stage, StepKind::otherwise))
      open.push_back(++count);
  }
  return blocks;
}

}  // namespace gossamer::ops
