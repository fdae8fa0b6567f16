#include "lower/loop_state.h"

#include <algorithm>

#include "ir/build.h"
#include "lower/control_tensors.h"
#include "stages/state_update.h"

namespace gossamer::lower {
namespace {

constexpr size_t most_host_elements = 64;

}  // namespace

LoopState::LoopState(std::string name, Tensor initial)
    : name_(std::move(name)),
      initial_(std::move(initial)),
      dims_(initial_.shape().size()),
      next_dims_(initial_.shape().size()) {
  const bool whole = ir::is_int(initial_.dtype()) || initial_.dtype() == ir::DType::boolean;
  on_host_ = initial_.host && whole && initial_.host->size() <= most_host_elements &&
             std::ranges::all_of(initial_.shape(),
                                 [](const Expr& e) { return ir::as_int(e).has_value(); });
}

LoopState LoopState::rows(const std::string& name, const Tensor& none,
                          const std::vector<bool>& changes) {
  LoopState made(name, none);
  for (size_t d = 0; d < changes.size(); ++d) {
    if (!changes[d]) continue;
    made.dims_[d] = ir::var(cat(name, d == 0 ? ".count" : cat(".dim", d)));
    made.next_dims_[d] = ir::var(cat(name, ".next", d));
  }
  made.state_ = ir::buffer(cat(name, ".rows"), none.dtype(), made.shape());
  return made;
}

bool LoopState::grows() const {
  return std::ranges::any_of(dims_, [](const ir::Var& var) { return static_cast<bool>(var); });
}

std::vector<Expr> LoopState::shape() const {
  std::vector<Expr> extents;
  for (size_t d = 0; d < dims_.size(); ++d)
    extents.push_back(dims_[d] ? Expr(dims_[d]) : initial_.shape()[d]);
  return extents;
}

std::vector<ir::Var> LoopState::variables() const {
  std::vector<ir::Var> all = elements_;
  all.insert(all.end(), dims_.begin(), dims_.end());
  return all;
}

Result<bool> LoopState::settle(const Tensor& next, const std::string& place,
                               const ir::Bounds& bounds) {
  if (next.dtype() != initial_.dtype() || next.rank() != initial_.rank()) {
    return fail_at(place, cat("makes \"", name_, "\" of another type or rank than it had"),
                   "only extents may change from round to round");
  }
  if (on_host_) {
    if (next.host && next.host->size() == elements_.size()) return true;
    on_host_ = false;
    return false;
  }
  bool settled = true;
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (dims_[d].get()) continue;
    if (ir::prove_equal(next.shape()[d], initial_.shape()[d], bounds)) continue;
    dims_[d] = ir::var(cat(name_, ".dim", d));
    next_dims_[d] = ir::var(cat(name_, ".next", d));
    settled = false;
  }
  return settled;
}

Tensor LoopState::begin_round(StageBuilder& stages) {
  if (on_host_) {
    elements_.clear();
    std::vector<Expr> values;
    for (size_t i = 0; i < initial_.host->size(); ++i) {
      elements_.push_back(ir::var(cat(name_, ".", i)));
      values.push_back(elements_.back());
    }
    return add_host_tensor(stages, name_, initial_.buffer, std::move(values));
  }
  state_ = ir::buffer(cat(name_, ".state"), initial_.dtype(), shape());
  return {state_, std::nullopt};
}

void LoopState::start(StageBuilder& stages, const std::string& origin) const {
  if (on_host_) {
    stages.append(stages::set_step(elements_, *initial_.host));
    return;
  }
  std::vector<ir::Var> variables;
  std::vector<Expr> extents;
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (!dims_[d].get()) continue;
    variables.push_back(dims_[d]);
    extents.push_back(initial_.shape()[d]);
  }
  if (!variables.empty()) stages.append(stages::set_step(variables, extents));
  stages::Stage stage = stages::copy_stage(cat(name_, ".initial"), initial_.buffer, state_);
  stage.origin = origin;
  stages.append(std::move(stage));
}

Tensor LoopState::with_row(const Tensor& row, StageBuilder& stages,
                           const std::string& origin) const {
  const Expr count = dims_[0];
  std::vector<Expr> longer{count + ir::index(1)};
  longer.insert(longer.end(), row.shape().begin(), row.shape().end());
  const auto body = [&](const std::vector<Expr>& point) {
    std::vector<Expr> at(point.begin() + 1, point.end()), old = point;
    old[0] = ir::min(point[0], ir::max(count - ir::index(1), ir::index(0)));
    return ir::select(point[0] < count, ir::load(state_, old), ir::load(row.buffer, at));
  };
  return add_compute(stages, cat(name_, ".longer"), row.dtype(), longer, body, origin);
}

// Memory of a growing state is laid out by its variables, so its next value waits in a tensor of
// the next extents.
ir::Buffer LoopState::wait(const Tensor& next, StageBuilder& stages,
                           const std::string& origin) const {
  std::vector<ir::Var> variables;
  std::vector<Expr> extents, shape;
  for (size_t d = 0; d < dims_.size(); ++d) {
    shape.push_back(dims_[d] ? Expr(next_dims_[d]) : initial_.shape()[d]);
    if (!dims_[d].get()) continue;
    variables.push_back(next_dims_[d]);
    extents.push_back(next.shape()[d]);
  }
  stages.append(stages::set_step(variables, extents));
  ir::Buffer made = ir::buffer(cat(name_, ".next"), next.dtype(), shape);
  stages::Stage copy = stages::copy_stage(made->name, next.buffer, made);
  copy.origin = origin;
  stages.append(std::move(copy));
  return made;
}

void LoopState::advance(const std::vector<LoopState>& all, const std::vector<Tensor>& next,
                        StageBuilder& stages, const std::string& origin) {
  std::vector<ir::Buffer> states, values;
  std::vector<ir::Var> variables;
  std::vector<Expr> numbers;
  for (size_t k = 0; k < all.size(); ++k) {
    const LoopState& one = all[k];
    if (one.on_host_) {
      variables.insert(variables.end(), one.elements_.begin(), one.elements_.end());
      numbers.insert(numbers.end(), next[k].host->begin(), next[k].host->end());
      continue;
    }
    for (size_t d = 0; d < one.dims_.size(); ++d) {
      if (!one.dims_[d].get()) continue;
      variables.push_back(one.dims_[d]);
      numbers.emplace_back(one.next_dims_[d]);
    }
    states.push_back(one.state_);
    values.push_back(one.grows() ? one.wait(next[k], stages, origin) : next[k].buffer);
  }
  std::vector<stages::Stage> copies = stages::advance_states(states, values);
  for (stages::Stage& stage : copies) stage.origin = origin;
  // A temporary of advance_states reads a state, whose extents must still be the old ones.
  const auto is_state = [&](const stages::Stage& stage) {
    return std::ranges::any_of(states,
                               [&](const ir::Buffer& state) { return stage.output.same(state); });
  };
  for (stages::Stage& stage : copies) {
    if (!is_state(stage)) stages.append(std::move(stage));
  }
  if (!variables.empty()) stages.append(stages::set_step(variables, numbers));
  for (stages::Stage& stage : copies) {
    if (is_state(stage)) stages.append(std::move(stage));
  }
}

Tensor LoopState::finish(StageBuilder& stages) const {
  if (!on_host_) return {state_, std::nullopt};
  return add_host_tensor(stages, cat(name_, ".final"), initial_.buffer,
                         {elements_.begin(), elements_.end()});
}

}  // namespace gossamer::lower
