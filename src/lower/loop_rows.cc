#include "lower/loop_rows.h"

#include "ir/build.h"
#include "stages/state_update.h"

namespace gossamer::lower {

void LoopRows::add_fill(std::string name, const ir::Buffer& buffer) {
  stages::Stage stage = stages::copy_stage(std::move(name), buffer, buffer);
  stage.result = ir::zero(buffer->dtype);
  stage.origin = origin_;
  fills_.emplace_back(std::move(stage));
}

void LoopRows::add_counted(const std::string& name, const Tensor& row, const Expr& rounds) {
  std::vector<Expr> shape{rounds};
  shape.insert(shape.end(), row.shape().begin(), row.shape().end());
  const ir::Buffer all = ir::buffer(cat(name, ".rows"), row.dtype(), shape);
  add_fill(cat(name, ".fill"), all);
  rows_.push_back({row, all, 0});
}

void LoopRows::add_growing(const std::string& name, const Tensor& row,
                           const std::function<bool(const Expr&)>& changes) {
  // None before the first round; an extent that a round decides is nothing until then.
  std::vector<Expr> shape{ir::index(0)};
  std::vector<bool> changing{true};
  for (const Expr& extent : row.shape()) {
    changing.push_back(changes(extent));
    shape.push_back(changing.back() ? ir::index(0) : extent);
  }
  const ir::Buffer none = ir::buffer(cat(name, ".none"), row.dtype(), shape);
  add_fill(none->name, none);
  rows_.push_back({row, {}, growing_.size()});
  growing_.push_back(LoopState::rows(name, {none, std::nullopt}, changing));
}

void LoopRows::start(StageBuilder& stages) {
  stages.append(std::move(fills_));
  for (const LoopState& one : growing_) one.start(stages, origin_);
}

std::vector<Tensor> LoopRows::store(const ir::Var& round, StageBuilder& stages) const {
  std::vector<Tensor> next;
  for (const Row& row : rows_) {
    if (!row.all) {
      next.push_back(growing_[row.growing].with_row(row.made, stages, origin_));
      continue;
    }
    stages::Stage stage =
        stages::row_stage(cat(row.all->name, ".row"), row.all, round, row.made.buffer);
    stage.origin = origin_;
    stages.append(std::move(stage));
  }
  return next;
}

std::vector<Tensor> LoopRows::finish(StageBuilder& stages) const {
  std::vector<Tensor> all;
  for (const Row& row : rows_) {
    all.push_back(row.all ? Tensor{row.all, std::nullopt} : growing_[row.growing].finish(stages));
  }
  return all;
}

}  // namespace gossamer::lower
