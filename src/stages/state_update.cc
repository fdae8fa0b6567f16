#include "stages/state_update.h"

#include <algorithm>

#include "ir/build.h"

namespace gossamer::stages {

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

}  // namespace gossamer::stages
