#include "graph/repeat.h"

#include <algorithm>
#include <iterator>

#include "graph/loop_rows.h"
#include "graph/loop_state.h"
#include "graph/text_parts.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::graph {
namespace {

class RepeatLowering {
 public:
  RepeatLowering(const Repeat& what, const Values& values, GraphLowering& lowering)
      : what_(what),
        values_(values),
        lowering_(lowering),
        stages_(lowering.stages()),
        body_(*what.node.regions[0]),
        place_(cat("[", what.node.def->name, "] \"", what.node.name, "\"")),
        origin_(cat(what.node.def->name, " \"", what.node.name, "\"")),
        first_row_(what.initial.size() + (what.has_condition ? 1 : 0)),
        round_(ir::var(cat(what.node.name, ".round"))),
        rows_(origin_) {}

  Result<std::vector<Tensor>> run();

 private:
  void carry_initial();
  Result<> settle_states();
  Result<bool> lower_round();
  Result<std::vector<Tensor>> next_states();
  Result<> decide_end();
  Result<> stack_rows();
  Result<> stack_row(const std::string& name, const Tensor& row);
  bool changes_in_rounds(const Expr& extent) const;
  void append_rounds();
  void append_condition();

  const Repeat& what_;
  const Values& values_;
  GraphLowering& lowering_;
  StageBuilder& stages_;
  const Graph& body_;
  std::string place_, origin_;
  size_t first_row_;  // among the body's outputs
  ir::Var round_;

  std::vector<bool> texts_;         // of states, then of rows
  std::vector<LoopState> carried_;  // strings in their parts
  Region region_;
  std::vector<Tensor> next_;  // of `carried_`, by the region
  bool counted_ = false;      // the number of rounds is known before them
  ir::Var again_;             // tested before each round; null where all are run
  LoopRows rows_;
};

Result<std::vector<Tensor>> RepeatLowering::run() {
  if (body_.outputs.size() < first_row_) return fail_at(place_, "has a body with too few outputs");
  carry_initial();
  GS_TRY(settle_states());
  GS_TRY(decide_end());
  GS_TRY(stack_rows());
  append_rounds();
  std::vector<Tensor> results;
  for (const LoopState& one : carried_) results.push_back(one.finish(stages_));
  std::ranges::move(rows_.finish(stages_), std::back_inserter(results));
  return joined(results, texts_);
}

void RepeatLowering::carry_initial() {
  for (size_t k = 0; k < what_.initial.size(); ++k) {
    const Tensor& initial = what_.initial[k];
    const std::string& name = body_.values[body_.inputs[what_.first_state + k]].name;
    texts_.push_back(is_text(initial));
    for (const Tensor& part : parts_of({initial})) {
      const char* suffix = part.buffer.same(initial.lengths) ? ".lengths" : "";
      carried_.emplace_back(cat(what_.node.name, "/", name, suffix), part);
    }
  }
}

// Lowers the body until the states' forms stay as they are from round to round.
Result<> RepeatLowering::settle_states() {
  const StageBuilder before = stages_;
  for (bool settled = false; !settled;) {
    stages_ = before;
    GS_ASSIGN(settled, lower_round());
  }
  stages_.bounds = before.bounds;
  return {};
}

// True where the states have the forms that the body takes.
Result<bool> RepeatLowering::lower_round() {
  const int64_t last = ir::as_int(what_.rounds).value_or(most_rounds) - 1;
  stages_.bounds.set(round_.get(), {0, std::max<int64_t>(last, 0)});
  const size_t start = stages_.program().size();
  std::vector<Item> inputs;
  for (Tensor& input : what_.inputs(round_)) inputs.emplace_back(std::move(input));
  std::vector<Tensor> begun;
  for (LoopState& one : carried_) begun.push_back(one.begin_round(stages_));
  for (Tensor& state : joined(begun, texts_)) inputs.emplace_back(std::move(state));
  for (Tensor& row : what_.rows(round_)) inputs.emplace_back(std::move(row));
  if (inputs.size() != body_.inputs.size()) {
    return fail_at(
        place_, cat("has a body of ", body_.inputs.size(), " inputs, it is given ", inputs.size()));
  }
  ops::Program prelude = stages_.cut(start);
  GS_ASSIGN(region_, lowering_.lower_region(body_, values_, inputs));
  for (const Item& output : region_.outputs) {
    if (!output.tensor) return fail_at(place_, "makes a sequence where it had a tensor");
  }
  region_.program.insert(region_.program.begin(), std::make_move_iterator(prelude.begin()),
                         std::make_move_iterator(prelude.end()));
  GS_ASSIGN(next_, next_states());
  bool settled = true;
  for (size_t k = 0; k < carried_.size(); ++k) {
    GS_ASSIGN(const bool same, carried_[k].settle(next_[k], place_, stages_.bounds));
    settled = settled && same;
  }
  return settled;
}

Result<std::vector<Tensor>> RepeatLowering::next_states() {
  const size_t states = what_.initial.size();
  std::vector<Tensor> parts;
  for (size_t k = 0; k < states; ++k) {
    const Tensor& next = region_.outputs[first_row_ - states + k].tensor;
    if (is_text(next) != texts_[k]) {
      return fail_at(
          place_,
          cat("makes \"", carried_[parts.size()].name(), "\" of another type or rank than it had"),
          "only extents may change from round to round");
    }
    for (Tensor& part : parts_of({next})) parts.push_back(std::move(part));
  }
  return parts;
}

// A condition that is not always true is a variable, tested before each round.
Result<> RepeatLowering::decide_end() {
  bool endless = true;
  if (what_.has_condition) {
    const Tensor& again = region_.outputs[0].tensor;
    const auto now = again.host && again.host->size() == 1
                         ? ir::as_int(ir::simplify((*again.host)[0]))
                         : std::nullopt;
    endless = now && *now != 0 && ir::is_const(ir::simplify(what_.condition), 1);
    if (!endless) again_ = ir::var(cat(what_.node.name, ".again"));
  }
  counted_ = endless && !ir::is_const(what_.rounds, most_rounds);
  // Rounds are counted in 32 bits; a condition is meant to end a loop long before.
  if (endless && what_.wanted) {
    const std::string problem = cat("goes on for more than ", most_rounds, " rounds");
    const auto wanted = ir::as_int(what_.wanted);
    if (wanted && *wanted > most_rounds) return fail_at(place_, problem);
    if (!wanted) {
      stages_.add_check(what_.wanted <= static_cast<double>(most_rounds),
                        cat(place_, ": ", problem));
    }
  }
  return {};
}

Result<> RepeatLowering::stack_rows() {
  for (size_t i = first_row_; i < body_.outputs.size(); ++i) {
    const Tensor& row = region_.outputs[i].tensor;
    const std::string name = cat(what_.node.name, "/", body_.values[body_.outputs[i]].name);
    texts_.push_back(is_text(row));
    for (const Tensor& part : parts_of({row}))
      GS_TRY(stack_row(part.buffer.same(row.lengths) ? name + ".lengths" : name, part));
  }
  return {};
}

Result<> RepeatLowering::stack_row(const std::string& name, const Tensor& row) {
  for (const Expr& extent : row.shape()) {
    if (region_.uses_own(extent)) {
      return fail_at(place_,
                     cat("stacks rows of \"", name, "\" whose size is only known in each round"));
    }
  }
  if (counted_) {
    rows_.add_counted(name, row, what_.rounds);
  } else {
    rows_.add_growing(name, row, [&](const Expr& extent) { return changes_in_rounds(extent); });
  }
  return {};
}

bool RepeatLowering::changes_in_rounds(const Expr& extent) const {
  bool changes = region_.uses_own(extent) || ir::uses(extent, round_.get());
  for (const LoopState& one : carried_) {
    for (const ir::Var& var : one.variables())
      changes = changes || (var && ir::uses(extent, var.get()));
  }
  return changes;
}

// The steps and stages, in order.
void RepeatLowering::append_rounds() {
  for (const LoopState& one : carried_) one.start(stages_, origin_);
  rows_.start(stages_);
  const auto flag = [](const Expr& value) {
    return ir::select(value != 0.0, ir::index(1), ir::index(0));
  };
  if (again_) stages_.append(ops::set_step({again_}, {flag(what_.condition)}));
  stages_.append(ops::loop_step(round_, what_.rounds, again_ ? Expr(again_) : Expr()));
  stages_.append(std::move(region_.program));
  std::vector<Tensor> next = next_;
  std::ranges::move(rows_.store(round_, stages_), std::back_inserter(next));
  if (again_) {
    const Tensor& again = region_.outputs[0].tensor;
    if (again.host && again.host->size() == 1) {
      stages_.append(ops::set_step({again_}, {flag((*again.host)[0])}));
    } else {
      stages_.append(ops::read_step(again.buffer, {again_}));
    }
  }
  std::vector<LoopState> states = carried_;
  states.insert(states.end(), rows_.growing().begin(), rows_.growing().end());
  LoopState::advance(states, next, stages_, origin_);
  stages_.append(ops::end_step());
}

}  // namespace

Result<std::vector<Tensor>> lower_repeat(const Repeat& what, const Values& values,
                                         GraphLowering& lowering) {
  return RepeatLowering(what, values, lowering).run();
}

}  // namespace gossamer::graph
