#include "compiler/host_program.h"

#include <algorithm>
#include <set>

#include "ir/build.h"

namespace gossamer::compiler {

using package::Step;

namespace {

int index_of(const std::vector<ir::Var>& dims, const ir::Expr& var) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].get() == var.get()) return static_cast<int>(i);
  }
  GS_CHECK(false, "a step sets a variable that nobody knows");
  return -1;
}

void number_steps(std::vector<Step>& steps, const std::vector<int>& numbers) {
  std::erase_if(steps, [&](const Step& step) {
    return step.kind == Step::Kind::plan && numbers[static_cast<size_t>(step.segment)] < 0;
  });
  for (Step& step : steps) {
    if (step.kind == Step::Kind::plan) step.segment = numbers[static_cast<size_t>(step.segment)];
    number_steps(step.body, numbers);
    number_steps(step.otherwise, numbers);
  }
}

}  // namespace

void HostProgram::put(Step step) {
  std::vector<Step>& list = open_.empty()            ? steps_
                            : open_.back().otherwise ? open_.back().step.otherwise
                                                     : open_.back().step.body;
  list.push_back(std::move(step));
}

void HostProgram::launch(int device) {
  if (device != launching_) flush_launches();
  launching_ = device;
  events_.push_back({launches_++, {}, {}});
}

// Launches since the last step.
void HostProgram::flush_launches() {
  if (flushed_ == launches_) return;
  Step step;
  step.first = flushed_;
  step.last = launches_;
  flushed_ = launches_;
  put(std::move(step));
}

void HostProgram::open_segment() {
  Step step;
  step.kind = Step::Kind::plan;
  step.segment = planner_.open_segment();
  put(std::move(step));
}

// Sizes of states that a variable is part of were computed where it was first set: there again.
void HostProgram::set(const stages::Step& set) {
  Step step;
  step.kind = Step::Kind::set;
  for (size_t i = 0; i < set.variables.size(); ++i)
    step.sets.emplace_back(index_of(planner_.dims(), set.variables[i]),
                           planner_.number(set.values[i]));
  put(std::move(step));
  std::set<int> again;
  for (const ir::Var& var : set.variables) {
    if (const auto known = set_segment_.find(var.get()); known != set_segment_.end())
      again.insert(known->second);
  }
  for (int segment : again) {
    Step plan;
    plan.kind = Step::Kind::plan;
    plan.segment = segment;
    put(std::move(plan));
  }
  open_segment();
  for (const ir::Var& var : set.variables) set_segment_.emplace(var.get(), planner_.segment());
}

void HostProgram::check(const stages::Check& check) {
  const ir::Expr value =
      check.elements ? check.elements : ir::select(check.condition, ir::index(1), ir::index(0));
  package::Check made{planner_.number(value), check.message, planner_.segment_of(value)};
  if (check.elements) made.most = most_;
  const bool known = std::ranges::any_of(checks_, [&](const package::Check& other) {
    return other.value == made.value && other.most == made.most && made.most >= 0;
  });
  if (!known) checks_.push_back(std::move(made));
}

void HostProgram::add(const stages::Step& from) {
  using stages::StepKind;
  if (from.kind != StepKind::check) flush_launches();
  switch (from.kind) {
    case StepKind::read: {
      Step step;
      step.kind = Step::Kind::read;
      step.tensor = tensor_of_(from.from);
      step.dim = index_of(planner_.dims(), from.variables[0]);
      step.count = static_cast<int>(from.variables.size());
      put(std::move(step));
      events_.push_back({-1, from.from, {}});
      open_segment();
      break;
    }
    case StepKind::copy: {
      Step step;
      step.kind = Step::Kind::copy;
      step.tensor = tensor_of_(from.from);
      step.to = tensor_of_(from.to);
      put(std::move(step));
      events_.push_back({-1, from.from, from.to});
      break;
    }
    case StepKind::check:
      check({from.condition, from.message, from.elements});
      break;
    case StepKind::set:
      set(from);
      break;
    case StepKind::branch:
    case StepKind::loop: {
      Open open;
      const bool loops = from.kind == StepKind::loop;
      open.step.kind = loops ? Step::Kind::loop : Step::Kind::branch;
      open.step.number = planner_.number(
          loops ? from.rounds : ir::select(from.condition, ir::index(1), ir::index(0)));
      if (loops) {
        open.step.dim = index_of(planner_.dims(), from.variables[0]);
        if (from.condition) open.step.condition = index_of(planner_.dims(), from.condition);
      }
      open.first_event = events_.size();
      open_.push_back(std::move(open));
      open_segment();
      break;
    }
    case StepKind::otherwise:
      open_.back().otherwise = true;
      open_segment();
      break;
    case StepKind::end: {
      Open open = std::move(open_.back());
      open_.pop_back();
      if (open.step.kind == Step::Kind::loop) loops_.push_back({open.first_event, events_.size()});
      put(std::move(open.step));
      open_segment();
      break;
    }
  }
}

void HostProgram::finish(package::Module& module, bool has_side) {
  flush_launches();
  const codegen::PlanFunction& plan = planner_.function();
  module.plan_values = static_cast<int>(plan.values.size());
  std::set<int> used(plan.segments.begin(), plan.segments.end());
  used.insert(0);
  std::vector<int> numbers(static_cast<size_t>(planner_.last_segment()) + 1, -1);
  int next = 0;
  for (int segment : used) numbers[static_cast<size_t>(segment)] = next++;
  planner_.number_segments(numbers);
  module.plan_segments = next;
  const auto renumber = [&](int& segment) {
    segment = std::max(numbers[static_cast<size_t>(segment)], 0);
  };
  for (package::Slot& slot : module.slots) renumber(slot.segment);
  for (package::Check& check : checks_) renumber(check.segment);
  number_steps(steps_, numbers);
  if (!has_side && steps_.size() == 1 && steps_[0].kind == Step::Kind::launch) steps_.clear();
  module.steps = std::move(steps_);
  module.checks = std::move(checks_);
}

}  // namespace gossamer::compiler
