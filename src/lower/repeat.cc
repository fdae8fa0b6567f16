#include "lower/repeat.h"

#include <algorithm>
#include <iterator>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "lower/loop_rows.h"
#include "lower/loop_state.h"
#include "lower/text_parts.h"

namespace gossamer::lower {
namespace {

using graph::Graph;

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
        initial_(what.initial),
        rows_(origin_) {}

  Result<std::vector<Item>> run();

 private:
  std::string state_name(size_t k) const;
  void carry_initial();
  Result<> settle_forms();
  Result<> settle_states();
  Result<bool> lower_round();
  std::vector<Item> states_of(const std::vector<Tensor>& tensors) const;
  Result<Item> next_sequence(size_t k, const Item& next);
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

  std::vector<Item> initial_;                            // of states, sequences in their last form
  std::vector<std::optional<ops::SequenceForm>> wider_;  // that a round asks for instead
  std::vector<bool> texts_;                              // of tensors of states, then of rows
  std::vector<LoopState> carried_;                       // strings in their parts
  Region region_;
  std::vector<Tensor> next_;  // of `carried_`, by the region
  bool counted_ = false;      // the number of rounds is known before them
  ir::Var again_;             // tested before each round; null where all are run
  LoopRows rows_;
};

Result<std::vector<Item>> RepeatLowering::run() {
  if (!what_.body && body_.outputs.size() < first_row_)
    return fail_at(place_, "has a body with too few outputs");
  GS_TRY(settle_forms());
  GS_TRY(decide_end());
  GS_TRY(stack_rows());
  append_rounds();
  std::vector<Tensor> results;
  for (const LoopState& one : carried_) results.push_back(one.finish(stages_));
  std::ranges::move(rows_.finish(stages_), std::back_inserter(results));
  results = joined(results, texts_);
  std::vector<Item> items = states_of(results);
  for (size_t r = results.size() - (region_.outputs.size() - first_row_); r < results.size(); ++r)
    items.emplace_back(std::move(results[r]));
  return items;
}

// The number of elements of a sequence, or the extents that they share, may change from round to
// round: the sequence is packed then, in the form of all rounds.
Result<> RepeatLowering::settle_forms() {
  StageBuilder before = stages_;
  for (;;) {
    carry_initial();
    GS_TRY(settle_states());
    if (std::ranges::none_of(wider_, [](const auto& form) { return form.has_value(); })) return {};
    stages_ = before;
    for (size_t k = 0; k < wider_.size(); ++k) {
      if (!wider_[k]) continue;
      GS_ASSIGN(initial_[k],
                lowering_.pack_sequence(cat(what_.node.name, "/", state_name(k), ".initial"),
                                        initial_[k], *wider_[k]));
    }
    before = stages_;
  }
}

std::string RepeatLowering::state_name(size_t k) const {
  if (what_.body) return cat("state", k);
  return body_.values[body_.inputs[what_.first_state + k]].name;
}

void RepeatLowering::carry_initial() {
  texts_.clear();
  carried_.clear();
  wider_.assign(initial_.size(), std::nullopt);
  for (size_t k = 0; k < initial_.size(); ++k) {
    const std::string name = state_name(k);
    const std::vector<Tensor*> tensors = initial_[k].tensors();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& initial = *tensors[i];
      texts_.push_back(is_text(initial));
      const std::string own = initial_[k].tensor ? name : graph::element_name(name, i);
      for (const Tensor& part : parts_of({initial})) {
        const char* suffix = part.buffer.same(initial.lengths) ? ".lengths" : "";
        carried_.emplace_back(cat(what_.node.name, "/", own, suffix), part);
      }
    }
  }
}

// The states that consist of these tensors.
std::vector<Item> RepeatLowering::states_of(const std::vector<Tensor>& tensors) const {
  std::vector<Item> states = initial_;
  size_t at = 0;
  for (Item& state : states) {
    for (Tensor* tensor : state.tensors()) *tensor = tensors[at++];
  }
  return states;
}

// Lowers the body until the states' forms stay as they are from round to round.
Result<> RepeatLowering::settle_states() {
  const StageBuilder before = stages_;
  for (bool settled = false; !settled;) {
    stages_ = before;
    GS_ASSIGN(settled, lower_round());
    if (std::ranges::any_of(wider_, [](const auto& form) { return form.has_value(); })) break;
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
  std::ranges::move(states_of(joined(begun, texts_)), std::back_inserter(inputs));
  for (Tensor& row : what_.rows(round_)) inputs.emplace_back(std::move(row));
  if (!what_.body && inputs.size() != body_.inputs.size()) {
    return fail_at(
        place_, cat("has a body of ", body_.inputs.size(), " inputs, it is given ", inputs.size()));
  }
  stages::Program prelude = stages_.cut(start);
  GS_ASSIGN(region_,
            what_.body ? what_.body(inputs) : lowering_.lower_region(body_, values_, inputs));
  for (size_t i = 0; i < region_.outputs.size(); ++i) {
    const bool state = i + initial_.size() >= first_row_ && i < first_row_;
    const bool had_tensor = !state || initial_[i + initial_.size() - first_row_].tensor;
    if (had_tensor && !region_.outputs[i].tensor)
      return fail_at(place_, "makes a sequence where it had a tensor");
  }
  region_.program.insert(region_.program.begin(), std::make_move_iterator(prelude.begin()),
                         std::make_move_iterator(prelude.end()));
  GS_ASSIGN(next_, next_states());
  if (std::ranges::any_of(wider_, [](const auto& form) { return form.has_value(); })) return false;
  bool settled = true;
  for (size_t k = 0; k < carried_.size(); ++k) {
    GS_ASSIGN(const bool same, carried_[k].settle(next_[k], place_, stages_.bounds));
    settled = settled && same;
  }
  return settled;
}

Result<std::vector<Tensor>> RepeatLowering::next_states() {
  const size_t states = initial_.size();
  std::vector<Tensor> parts;
  size_t at = 0;
  for (size_t k = 0; k < states; ++k) {
    Item state = region_.outputs[first_row_ - states + k];
    if (!initial_[k].tensor) {
      GS_ASSIGN(state, next_sequence(k, state));
      if (wider_[k]) continue;
    }
    for (const Tensor* next : state.tensors()) {
      if (is_text(*next) != texts_[at++]) {
        return fail_at(place_,
                       cat("makes \"", carried_[parts.size()].name(),
                           "\" of another type or rank than it had"),
                       "only extents may change from round to round");
      }
      for (Tensor& part : parts_of({*next})) parts.push_back(std::move(part));
    }
  }
  return parts;
}

// What the body makes of a sequence, in the form of the state; or sets wider_.
Result<Item> RepeatLowering::next_sequence(size_t k, const Item& next) {
  const Item& now = initial_[k];
  if (!next.is_sequence()) return fail_at(place_, "makes a tensor where it had a sequence");
  if (!now.packed && !next.packed && now.elements.size() == next.elements.size()) return next;
  auto before = ops::form_of(now, stages_.bounds), after = ops::form_of(next, stages_.bounds);
  if (!before) return fail_at(place_, before.error().message, before.error().hint);
  if (!after) return fail_at(place_, after.error().message, after.error().hint);
  if (*after) {
    for (Expr& extent : (*after)->shape) {
      if (extent.get() && changes_in_rounds(extent)) extent = {};
    }
  }
  auto form = !*before  ? Result<ops::SequenceForm>(**after)
              : !*after ? Result<ops::SequenceForm>(**before)
                        : ops::common_form(**before, **after, stages_.bounds);
  if (!form) return fail_at(place_, form.error().message, form.error().hint);
  const auto same = [](const Expr& x, const Expr& y) {
    return (x.get() == nullptr) == (y.get() == nullptr);
  };
  if (!now.packed || !std::ranges::equal(form->shape, now.packed->shape, same)) {
    wider_[k] = *form;
    return next;
  }
  const size_t start = stages_.program().size();
  GS_ASSIGN(Item made, lowering_.pack_sequence(cat(what_.node.name, "/", state_name(k), ".next"),
                                               next, *form));
  stages::Program packing = stages_.cut(start);
  region_.program.insert(region_.program.end(), std::make_move_iterator(packing.begin()),
                         std::make_move_iterator(packing.end()));
  return made;
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
  for (size_t i = first_row_; i < region_.outputs.size(); ++i) {
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
      return fail_at(
          place_,
          cat("stacks rows of \"", name,
              "\" whose size is only known in each round; the shapes that decide it must be "
              "known when compiling"));
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
  if (again_) stages_.append(stages::set_step({again_}, {flag(what_.condition)}));
  stages_.append(stages::loop_step(round_, what_.rounds, again_ ? Expr(again_) : Expr()));
  stages_.append(std::move(region_.program));
  std::vector<Tensor> next = next_;
  std::ranges::move(rows_.store(round_, stages_), std::back_inserter(next));
  if (again_) {
    const Tensor& again = region_.outputs[0].tensor;
    if (again.host && again.host->size() == 1) {
      stages_.append(stages::set_step({again_}, {flag((*again.host)[0])}));
    } else {
      stages_.append(stages::read_step(again.buffer, {again_}));
    }
  }
  std::vector<LoopState> states = carried_;
  states.insert(states.end(), rows_.growing().begin(), rows_.growing().end());
  LoopState::advance(states, next, stages_, origin_);
  stages_.append(stages::end_step());
}

}  // namespace

Result<std::vector<Item>> lower_repeat(const Repeat& what, const Values& values,
                                       GraphLowering& lowering) {
  return RepeatLowering(what, values, lowering).run();
}

}  // namespace gossamer::lower
