#include "autodiff/differentiate.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "autodiff/differentiation.h"
#include "autodiff/stage_gradient.h"
#include "ir/build.h"
#include "stages/state_update.h"

namespace gossamer::autodiff {
namespace {

bool has_gradient(ir::DType dtype) { return ir::is_float(dtype) && !ir::is_small(dtype); }

// Where the block that ends at `end` begins, and the `otherwise` between, or `end`.
std::pair<size_t, size_t> opener_of(Entries program, size_t end) {
  size_t middle = end;
  int depth = 0;
  for (size_t i = end; i-- > 0;) {
    if (program[i].is(stages::StepKind::end)) ++depth;
    if (depth == 0 && program[i].is(stages::StepKind::otherwise)) middle = i;
    if (!program[i].is(stages::StepKind::branch) && !program[i].is(stages::StepKind::loop))
      continue;
    if (depth-- == 0) return {i, middle};
  }
  return {0, middle};
}

}  // namespace

Differentiation::Differentiation(ops::Builder& builder, Entries program, const Gradients& wanted)
    : b_(builder), program_(program), wanted_(wanted) {
  for (const Tensor& x : wanted.xs) xs_.insert(x.buffer.get());
}

Result<std::vector<Tensor>> Differentiation::run() {
  find_active();
  if (is_active(wanted_.y.buffer)) {
    add(wanted_.y.buffer, seed());
    GS_TRY(go_back(program_));
  }
  std::vector<Tensor> gradients;
  for (const Tensor& x : wanted_.xs) gradients.push_back(total(x.buffer));
  return gradients;
}

// What hangs on an x, of floats. States of loops hang on what a later stage makes.
void Differentiation::find_active() {
  active_.insert(xs_.begin(), xs_.end());
  for (size_t before = 0; before != active_.size();) {
    before = active_.size();
    bool loops = false;
    for (const stages::Entry& entry : program_) {
      loops = loops || entry.is(stages::StepKind::loop);
      const Stage* stage = entry.stage();
      if (!stage || stage->stops_gradient || !has_gradient(stage->output->dtype)) continue;
      const std::vector<ir::Buffer> inputs = entry.inputs();
      if (std::ranges::any_of(inputs, [this](const ir::Buffer& one) { return is_active(one); }))
        active_.insert(stage->output.get());
    }
    if (!loops) break;
  }
}

Tensor Differentiation::seed() {
  if (wanted_.seed) return wanted_.seed;
  const Tensor& y = wanted_.y;
  return b_.compute("seed", y.dtype(), y.shape(),
                    [&](ops::Point) { return ir::constant(y.dtype(), 1); });
}

void Differentiation::add(const ir::Buffer& to, Tensor cotangent) {
  parts_[to.get()].push_back(std::move(cotangent));
}

Tensor Differentiation::total(const ir::Buffer& buffer) {
  const auto found = parts_.find(buffer.get());
  if (found == parts_.end()) return {};
  std::vector<Tensor>& parts = found->second;
  if (parts.size() > 1) parts = {sum_of(b_, "total", parts)};
  return parts[0];
}

Result<> Differentiation::go_back(Entries program) {
  for (size_t i = program.size(); i-- > 0;) {
    if (program[i].is(stages::StepKind::end)) {
      const auto [begin, middle] = opener_of(program, i);
      if (program[begin].is(stages::StepKind::loop)) {
        GS_TRY(of_loop(program, begin, i));
      } else {
        GS_TRY(of_branch(program, begin, middle, i));
      }
      i = begin;
    } else if (const Stage* stage = program[i].stage()) {
      GS_TRY(of_stage(*stage));
    }
  }
  return {};
}

Result<> Differentiation::of_stage(const Stage& stage) {
  if (!is_active(stage.output) || stage.stops_gradient) return {};
  if (wanted_.independent && xs_.contains(stage.output.get())) return {};
  const Tensor cotangent = total(stage.output);
  if (!cotangent) return {};
  const Active active = [this](const ir::Buffer& buffer) { return is_active(buffer); };
  GS_ASSIGN(const std::vector<Contribution> made, StageGradient(b_, active, stage).run(cotangent));
  for (const Contribution& one : made) add(one.to, one.cotangent);
  return {};
}

Result<std::vector<Differentiation::Outside>> Differentiation::within(Entries block, Parts given) {
  Parts outer = std::exchange(parts_, std::move(given));
  const Result<> status = go_back(block);
  std::unordered_set<const ir::BufferNode*> written;
  for (const stages::Entry& entry : block) written.insert(entry.output().get());
  std::vector<Outside> made;
  std::unordered_set<const ir::BufferNode*> seen;
  for (const stages::Entry& entry : block) {
    for (const ir::Buffer& input : entry.inputs()) {
      if (written.contains(input.get()) || !seen.insert(input.get()).second) continue;
      if (Tensor found = total(input)) made.push_back({input, std::move(found)});
    }
  }
  parts_ = std::move(outer);
  GS_TRY(status);
  return made;
}

// A branch by the same condition; both parts write what either hands on.
Result<> Differentiation::of_branch(Entries program, size_t begin, size_t middle, size_t end) {
  const std::array<Entries, 2> blocks{
      program.subspan(begin + 1, middle - begin - 1),
      middle < end ? program.subspan(middle + 1, end - middle - 1) : Entries()};
  bool reached = false;
  std::array<stages::Program, 2> made;
  std::array<std::vector<Outside>, 2> outside;
  for (size_t k = 0; k < 2; ++k) {
    Parts given;
    for (const stages::Entry& entry : blocks[k]) {
      if (!entry.stage() || given.contains(entry.output().get())) continue;
      if (const Tensor found = total(entry.output())) given[entry.output().get()] = {found};
    }
    reached = reached || !given.empty();
    const size_t first = b_.program.size();
    GS_ASSIGN(outside[k], within(blocks[k], std::move(given)));
    const auto from = b_.program.begin() + static_cast<std::ptrdiff_t>(first);
    made[k].assign(std::make_move_iterator(from), std::make_move_iterator(b_.program.end()));
    b_.program.erase(from, b_.program.end());
  }
  if (!reached) return {};
  std::vector<Contribution> merged;
  for (const auto& all : outside) {
    for (const Outside& one : all) {
      if (std::ranges::any_of(merged,
                              [&](const Contribution& known) { return known.to.same(one.buffer); }))
        continue;
      const ir::Buffer buffer =
          ir::buffer(cat(one.buffer->name, ".gradient"), one.buffer->dtype, one.buffer->shape);
      merged.push_back({one.buffer, {buffer, std::nullopt}});
    }
  }
  for (size_t k = 0; k < 2; ++k) {
    for (const Contribution& to : merged) {
      stages::Stage copy = stages::copy_stage("branch", to.cotangent.buffer, to.cotangent.buffer);
      copy.result = ir::zero(to.to->dtype);
      for (const Outside& one : outside[k]) {
        if (one.buffer.same(to.to))
          copy = stages::copy_stage("branch", one.cotangent.buffer, to.cotangent.buffer);
      }
      made[k].emplace_back(std::move(copy));
    }
  }
  b_.program.emplace_back(stages::branch_step(program[begin].step()->condition));
  std::ranges::move(made[0], std::back_inserter(b_.program));
  b_.program.emplace_back(stages::otherwise_step());
  std::ranges::move(made[1], std::back_inserter(b_.program));
  b_.program.emplace_back(stages::end_step());
  for (Contribution& one : merged) add(one.to, std::move(one.cotangent));
  return {};
}

Result<std::vector<Tensor>> differentiate(ops::Builder& builder,
                                          std::span<const stages::Entry> program,
                                          const Gradients& wanted) {
  return Differentiation(builder, program, wanted).run();
}

}  // namespace gossamer::autodiff
