#include "autodiff/gradient_of_loop.h"

#include <algorithm>
#include <iterator>

#include "autodiff/stage_gradient.h"
#include "ir/build.h"
#include "stages/state_update.h"

namespace gossamer::autodiff {
namespace {

// Calls f on every expression of an entry, extents among them.
template <class F>
void each_expr(stages::Entry& entry, F&& f) {
  const auto one = [&](Expr& e) {
    if (e) f(e);
  };
  const auto all = [&](std::vector<Expr>& list) {
    for (Expr& e : list) one(e);
  };
  if (Stage* stage = entry.stage()) {
    stages::visit_exprs(*stage, stages::any_role, f);
  } else {
    stages::Step& step = *entry.step();
    all(step.values);
    one(step.condition);
    one(step.elements);
    one(step.rounds);
  }
}

bool uses_any(const Expr& e, const std::vector<Var>& variables) {
  return std::ranges::any_of(variables, [&](const Var& var) { return ir::uses(e, var.get()); });
}

// What a stage copies element for element; null for others.
ir::Buffer copied_by(const Stage& stage) {
  const auto* load = ir::as<ir::Load>(stage.result);
  if (stage.kind != stages::StageKind::compute || !load ||
      load->indices.size() != stage.axes.size())
    return {};
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (load->indices[i].get() != stage.axes[i].get()) return {};
  }
  return load->buffer;
}

// Row `at` of a tensor along its first axis.
Tensor row_of(ops::Builder& b, const std::string& name, const Tensor& all, const Expr& at) {
  const std::vector<Expr> shape(all.shape().begin() + 1, all.shape().end());
  return b.compute(name, all.dtype(), shape, [&](ops::Point point) {
    std::vector<Expr> place{at};
    place.insert(place.end(), point.begin(), point.end());
    return all.at(place);
  });
}

}  // namespace

LoopGradient::LoopGradient(Differentiation& all, Entries program, size_t begin, size_t end)
    : all_(all),
      b_(all.b_),
      program_(program),
      body_(program.subspan(begin + 1, end - begin - 1)),
      begin_(begin),
      loop_(*program[begin].step()),
      rounds_(loop_.rounds) {
  for (const stages::Entry& entry : body_) {
    if (entry.stage() && origin_.empty()) origin_ = entry.stage()->origin;
  }
}

std::unexpected<Diagnostic> LoopGradient::unknown(const std::string& what) const {
  return fail_at(
      origin_, cat("has no gradient: its loop ", what),
      "have the rounds known when compiling, or put ai.gossamer::StopGradient before it");
}

Result<> LoopGradient::run() {
  if (ir::is_const(rounds_, 0)) return {};
  GS_TRY(find_states());
  const bool reached =
      std::ranges::any_of(states_, [](const State& one) { return bool(one.after); }) ||
      std::ranges::any_of(rows_, [](const Rows& one) { return bool(one.after); });
  if (!reached) return {};
  GS_TRY(check_numbers());
  if (loop_.condition) {
    const Var count = ir::var(cat(loop_.variables[0]->name, ".done"));
    b_.program.emplace_back(stages::set_step({count}, {Expr(loop_.variables[0])}));
    rounds_ = count;
  }
  GS_TRY(keep_states());
  return go_back();
}

const stages::Entry* LoopGradient::writer_before(const ir::Buffer& buffer) const {
  for (size_t i = begin_; i-- > 0;) {
    if (program_[i].stage() && program_[i].output().same(buffer)) return &program_[i];
  }
  return nullptr;
}

Result<> LoopGradient::find_states() {
  for (const stages::Entry& entry : body_) {
    const Stage* stage = entry.stage();
    if (!stage || writer_before(stage->output) == nullptr) continue;
    if (stage->kind == stages::StageKind::scatter && !stage->initial.get() &&
        !stage->condition.get() && stage->accumulators.empty()) {
      rows_.push_back({stage, all_.total(stage->output)});
      all_.parts_.erase(stage->output.get());
    } else if (const ir::Buffer next = copied_by(*stage); next.get() != nullptr) {
      State state;
      state.buffer = stage->output;
      state.next = next;
      state.after = all_.total(stage->output);
      states_.push_back(std::move(state));
    } else if (all_.is_active(stage->output)) {
      return unknown("changes a tensor in place");
    }
    hands_on_.insert(&entry);
  }
  return {};
}

// Numbers of a round are made in it; those that a round hands to the next are not kept.
Result<> LoopGradient::check_numbers() const {
  std::vector<Var> later = stages::variables_of({body_.begin(), body_.end()});
  for (const State& one : states_) {
    for (const Expr& extent : one.buffer->shape) {
      if (uses_any(extent, later)) return unknown("has a state whose shape changes");
    }
  }
  for (const stages::Entry& entry : body_) {
    if (hands_on_.contains(&entry)) continue;
    if (entry.step()) {
      std::erase_if(later, [&](const Var& var) {
        return std::ranges::any_of(entry.step()->variables,
                                   [&](const Var& set) { return set.same(var); });
      });
    }
    bool early = false;
    stages::Entry copy = entry;
    each_expr(copy, [&](const Expr& e) { early = early || uses_any(e, later); });
    if (early) return unknown("hands numbers of the host from round to round");
  }
  return {};
}

stages::Program LoopGradient::copy_body(const ir::BufferMap& states, const Expr& round,
                                        ir::BufferMap& buffers) {
  ir::VarMap numbers{{loop_.variables[0].get(), round}};
  for (const Var& var : stages::variables_of({body_.begin(), body_.end()}))
    numbers[var.get()] = ir::var(var->name);
  buffers = states;
  const std::string suffix = cat(".again", all_.copies_++);
  stages::Program made;
  for (const stages::Entry& entry : body_) {
    if (hands_on_.contains(&entry) || entry.is(stages::StepKind::check)) continue;
    stages::Entry copy = entry;
    if (Stage* stage = copy.stage()) {
      ir::Buffer& own = buffers[stage->output.get()];
      if (!own.get()) {
        std::vector<Expr> shape = stage->output->shape;
        for (Expr& extent : shape) extent = ir::substitute(extent, numbers);
        own = ir::buffer(stage->output->name, stage->output->dtype, std::move(shape));
        all_.alive_.push_back(own);
        if (all_.is_active(stage->output)) all_.active_.insert(own.get());
      }
      stage->output = own;
      stage->name += suffix;
      if (const auto known = buffers.find(stage->initial.get()); known != buffers.end())
        stage->initial = known->second;
    } else {
      stages::Step& step = *copy.step();
      for (Var& var : step.variables) var = Var(ir::as<ir::VarNode>(numbers.at(var.get())));
      if (const auto known = buffers.find(step.from.get()); known != buffers.end())
        step.from = known->second;
    }
    each_expr(copy,
              [&](Expr& e) { e = ir::substitute_buffers(ir::substitute(e, numbers), buffers); });
    made.push_back(std::move(copy));
  }
  return made;
}

// A buffer that a loop will change, with its first value.
Tensor LoopGradient::state_of(const std::string& name, const Tensor& initial) {
  const ir::Buffer state = ir::buffer(name, initial.dtype(), initial.shape());
  b_.program.emplace_back(stages::copy_stage(cat(name, ".initial"), initial.buffer, state));
  return {state, std::nullopt};
}

// The rounds once more.
Result<> LoopGradient::keep_states() {
  if (states_.empty()) return {};
  ir::BufferMap begun;
  std::vector<ir::Buffer> held, next;
  const Var round = ir::var(cat(loop_.variables[0]->name, ".again"));
  for (State& one : states_) {
    const Stage& initial = *writer_before(one.buffer)->stage();
    Stage copy = initial;
    copy.name += cat(".again", all_.copies_++);
    copy.output = ir::buffer(cat(one.buffer->name, ".again"), one.buffer->dtype, one.buffer->shape);
    held.push_back(copy.output);
    begun[one.buffer.get()] = copy.output;
    b_.program.emplace_back(std::move(copy));
    std::vector<Expr> shape{rounds_};
    shape.insert(shape.end(), one.buffer->shape.begin(), one.buffer->shape.end());
    const std::string name = cat(one.buffer->name, ".kept", all_.copies_++);
    const ir::Buffer kept = ir::buffer(name, one.buffer->dtype, std::move(shape));
    Stage fill = stages::copy_stage(cat(name, ".fill"), kept, kept);
    fill.result = ir::zero(kept->dtype);
    b_.program.emplace_back(std::move(fill));
    one.kept = {kept, std::nullopt};
  }
  b_.program.emplace_back(stages::loop_step(round, rounds_));
  for (size_t k = 0; k < states_.size(); ++k) {
    const ir::Buffer& kept = states_[k].kept.buffer;
    b_.program.emplace_back(stages::row_stage(cat(kept->name, ".row"), kept, round, held[k]));
  }
  ir::BufferMap buffers;
  std::ranges::move(copy_body(begun, round, buffers), std::back_inserter(b_.program));
  for (const State& one : states_) {
    const auto known = buffers.find(one.next.get());
    next.push_back(known == buffers.end() ? one.next : known->second);
  }
  for (Stage& stage : stages::advance_states(held, next)) b_.program.emplace_back(std::move(stage));
  b_.program.emplace_back(stages::end_step());
  return {};
}

// Where all that a body reads of a tensor from outside is one row a round, the rows are tensors of
// their own: what comes back to each is written to its place.
void LoopGradient::read_rows(stages::Program& body, const Var& counter) {
  struct Reading {
    ir::Buffer buffer;
    size_t axis = 0;
    Expr at;
    bool rows = true;
  };
  std::vector<Reading> readings;
  const auto look = [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    if (!load || !all_.is_active(load->buffer)) return true;
    auto found = std::ranges::find_if(
        readings, [&](const Reading& one) { return one.buffer.same(load->buffer); });
    size_t axis = 0;
    while (axis < load->indices.size() && !ir::uses(load->indices[axis], counter.get())) ++axis;
    if (axis == load->indices.size()) {
      if (found == readings.end())
        readings.push_back({load->buffer, 0, {}, false});
      else
        found->rows = false;
      return true;
    }
    const Expr& at = load->indices[axis];
    const Expr step =
        b_.simplify(ir::substitute(at, {{counter.get(), Expr(counter) + ir::index(1)}}) - at);
    const bool steady = ir::is_const(step, 1) || ir::is_const(step, -1);
    if (found == readings.end()) {
      readings.push_back({load->buffer, axis, at, steady});
    } else {
      found->rows = found->rows && steady && found->axis == axis && ir::equal(found->at, at);
    }
    return true;
  };
  for (stages::Entry& entry : body) {
    if (entry.stage() && entry.stage()->initial) continue;
    each_expr(entry, [&](const Expr& e) { ir::visit(e, look); });
  }
  std::erase_if(readings, [&](const Reading& one) {
    return !one.rows || std::ranges::any_of(body, [&](const stages::Entry& entry) {
      return entry.output().same(one.buffer) ||
             (entry.stage() && entry.stage()->initial.same(one.buffer));
    });
  });
  for (const Reading& one : readings) {
    std::vector<Expr> shape = one.buffer->shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(one.axis));
    Gathered row;
    row.buffer = one.buffer;
    row.row =
        b_.compute(cat("row", all_.copies_++), one.buffer->dtype, shape, [&](ops::Point point) {
            row.at.assign(point.begin(), point.end());
            row.at.insert(row.at.begin() + static_cast<std::ptrdiff_t>(one.axis), one.at);
            return ir::load(one.buffer, row.at);
          }).buffer;
    all_.active_.insert(row.row.get());
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || !load->buffer.same(one.buffer)) return {};
      std::vector<Expr> at = load->indices;
      at.erase(at.begin() + static_cast<std::ptrdiff_t>(one.axis));
      return ir::load(row.row, std::move(at));
    };
    for (stages::Entry& entry : body)
      each_expr(entry, [&](Expr& e) { e = ir::rewrite(e, rewriter); });
    gathered_.push_back(std::move(row));
  }
}

Result<> LoopGradient::go_back() {
  const Var counter = ir::var(cat(loop_.variables[0]->name, ".back"));
  const ir::Bounds outside = b_.bounds;
  b_.bounds.set(counter.get(),
                {0, std::max<int64_t>(ir::as_int(rounds_).value_or(int64_t{1} << 31) - 1, 0)});
  const Expr round = b_.simplify(rounds_ - ir::index(1) - Expr(counter));
  // The body stands at the end of the program until what goes before it is known.
  const size_t first = b_.program.size();
  ir::BufferMap begun;
  for (State& one : states_) {
    one.begun = row_of(b_, "begun", one.kept, round).buffer;
    begun[one.buffer.get()] = one.begun;
    if (all_.is_active(one.buffer)) all_.active_.insert(one.begun.get());
  }
  ir::BufferMap buffers;
  stages::Program block = copy_body(begun, round, buffers);
  read_rows(block, counter);
  b_.program.insert(b_.program.end(), block.begin(), block.end());
  const auto copy_of = [&](const ir::Buffer& buffer) {
    const auto known = buffers.find(buffer.get());
    return known == buffers.end() ? buffer : known->second;
  };
  // What the round hands on, as stages that only the walk back sees.
  Differentiation::Parts given;
  const auto hand_on = [&](const Stage& stage, const Tensor& cotangent) {
    block.emplace_back(stage);
    all_.alive_.push_back(stage.output);
    all_.active_.insert(stage.output.get());
    given[stage.output.get()] = {cotangent};
  };
  for (State& one : states_) {
    if (!all_.is_active(one.buffer)) continue;
    one.cotangent = ir::buffer(cat(one.buffer->name, ".back", all_.copies_++), one.buffer->dtype,
                               one.buffer->shape);
    const ir::Buffer handed = ir::buffer("handed", one.buffer->dtype, one.buffer->shape);
    hand_on(stages::copy_stage("handed", copy_of(one.next), handed), {one.cotangent, std::nullopt});
  }
  for (const Rows& one : rows_) {
    if (!one.after) continue;
    Stage stage = *one.stage;
    stage.kind = stages::StageKind::compute;
    const ir::VarMap at{{loop_.variables[0].get(), round}};
    stage.result = ir::substitute_buffers(ir::substitute(stage.values[0], at), buffers);
    std::vector<Expr> place;
    for (const Expr& e : stage.target) place.push_back(ir::substitute(e, at));
    const Tensor cotangent =
        b_.compute("row", one.after.dtype(), stage.extents, [&](ops::Point point) {
          ir::VarMap map;
          for (size_t i = 0; i < point.size(); ++i) map[stage.axes[i].get()] = point[i];
          std::vector<Expr> there;
          for (const Expr& e : place) there.push_back(ir::substitute(e, map));
          return one.after.at(there);
        });
    stage.values.clear();
    stage.target.clear();
    stage.output = ir::buffer("handed", one.after.dtype(), stage.extents);
    hand_on(stage, cotangent);
  }
  GS_ASSIGN(const std::vector<Differentiation::Outside> found,
            all_.within(block, std::move(given)));
  std::vector<ir::Buffer> held, next;
  std::vector<Tensor> initial;
  for (State& one : states_) {
    if (!one.cotangent) continue;
    const auto back = std::ranges::find_if(
        found, [&](const Differentiation::Outside& other) { return other.buffer.same(one.begun); });
    held.push_back(one.cotangent);
    next.push_back((back == found.end() ? zeros(b_, "none", one.buffer->dtype, one.buffer->shape)
                                        : back->cotangent)
                       .buffer);
  }
  std::vector<Stage> written;
  for (const Differentiation::Outside& one : found) {
    const auto is_begun = [&](const State& state) { return state.begun.same(one.buffer); };
    if (std::ranges::any_of(states_, is_begun)) continue;
    const auto row = std::ranges::find_if(
        gathered_, [&](const Gathered& other) { return other.row.same(one.buffer); });
    const ir::Buffer to = row == gathered_.end() ? one.buffer : row->buffer;
    const ir::Buffer sum = ir::buffer(cat(to->name, ".back", all_.copies_++), to->dtype, to->shape);
    if (row == gathered_.end()) {
      gathered_.push_back({to, sum, {}, {}});
      held.push_back(sum);
      next.push_back(sum_of(b_, "more", {{sum, std::nullopt}, one.cotangent}).buffer);
    } else {
      row->cotangent = sum;
      // The row's axes, in its order, beside the place that the round decides.
      Stage stage = stages::copy_stage(cat(sum->name, ".row"), one.cotangent.buffer, sum);
      stage.kind = stages::StageKind::scatter;
      stage.extents = one.cotangent.shape();
      stage.axes.clear();
      std::vector<Expr> point;
      size_t axis = 0;
      while (!ir::uses(row->at[axis], counter.get())) ++axis;
      for (size_t i = 0; i < stage.extents.size(); ++i) {
        stage.axes.push_back(ir::var(cat("i", i)));
        point.push_back(stage.axes.back());
      }
      stage.result = {};
      stage.values = {ir::load(one.cotangent.buffer, point)};
      stage.target = point;
      stage.target.insert(stage.target.begin() + static_cast<std::ptrdiff_t>(axis), row->at[axis]);
      written.push_back(std::move(stage));
    }
  }
  for (Stage& stage : written) b_.program.emplace_back(std::move(stage));
  for (Stage& stage : stages::advance_states(held, next)) b_.program.emplace_back(std::move(stage));
  const auto from = b_.program.begin() + static_cast<std::ptrdiff_t>(first);
  stages::Program body(std::make_move_iterator(from), std::make_move_iterator(b_.program.end()));
  b_.program.erase(from, b_.program.end());
  b_.bounds = outside;

  const auto start = [&](const ir::Buffer& state, const Tensor& value) {
    b_.program.emplace_back(stages::copy_stage(
        cat(state->name, ".initial"),
        (value ? value : zeros(b_, "none", state->dtype, state->shape)).buffer, state));
  };
  for (const State& one : states_) {
    if (one.cotangent) start(one.cotangent, one.after);
  }
  for (const Gathered& one : gathered_) {
    if (one.cotangent) start(one.cotangent, {});
  }
  b_.program.emplace_back(stages::loop_step(counter, rounds_));
  std::ranges::move(body, std::back_inserter(b_.program));
  b_.program.emplace_back(stages::end_step());
  for (const State& one : states_) {
    if (one.cotangent) all_.parts_[one.buffer.get()] = {{one.cotangent, std::nullopt}};
  }
  for (const Gathered& one : gathered_) {
    if (one.cotangent) all_.add(one.buffer, {one.cotangent, std::nullopt});
  }
  return {};
}

Result<> Differentiation::of_loop(Entries program, size_t begin, size_t end) {
  return LoopGradient(*this, program, begin, end).run();
}

}  // namespace gossamer::autodiff
