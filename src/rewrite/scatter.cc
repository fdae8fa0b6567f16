#include "rewrite/scatter.h"
#include "stages/pattern.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"
#include "stages/binary_search.h"
#include "stages/state_update.h"

namespace gossamer::rewrite {

using ir::Expr;
using ir::Var;
using target::Capabilities;

namespace {

// Every target index is one of the stage's axes, over the output's whole extent, or the same for
// all updates: a choice per point instead of a search.
std::optional<stages::Stage> choice_form(const stages::Stage& scatter) {
  if (!scatter.accumulators.empty() || scatter.condition) return std::nullopt;
  const ir::Buffer& before = scatter.initial ? scatter.initial : scatter.output;
  stages::Stage choice;
  choice.name = scatter.name;
  choice.origin = scatter.origin;
  choice.output = scatter.output;
  choice.extents = scatter.output->shape;
  std::vector<Expr> point;
  ir::VarMap axes;
  Expr aims = ir::boolean(true);
  for (size_t d = 0; d < choice.extents.size(); ++d) {
    choice.axes.push_back(ir::var("p" + std::to_string(d)));
    point.push_back(choice.axes.back());
    const Expr& target = scatter.target[d];
    bool is_axis = false;
    for (size_t i = 0; i < scatter.axes.size(); ++i) {
      if (target.get() != scatter.axes[i].get()) {
        if (ir::uses(target, scatter.axes[i].get())) return std::nullopt;
        continue;
      }
      if (!ir::prove_equal(scatter.extents[i], choice.extents[d])) return std::nullopt;
      is_axis = axes.emplace(scatter.axes[i].get(), point[d]).second;
      if (!is_axis) return std::nullopt;
    }
    if (!is_axis) aims = aims && point[d] == target;
  }
  if (axes.size() != scatter.axes.size()) return std::nullopt;
  choice.result =
      ir::select(aims, ir::substitute(scatter.values[0], axes), ir::load(before, point));
  return choice;
}

// Each point searches for the first update that aims at it or beyond it.
stages::Stage search_form(const stages::Stage& scatter) {
  stages::Stage search;
  search.name = scatter.name;
  search.origin = scatter.origin;
  search.output = scatter.output;
  search.extents = scatter.output->shape;
  search.axes = {ir::var("p")};
  const Expr point = search.axes[0], length = scatter.extents[0];
  const auto at = [&](const Expr& expr, const Expr& place) {
    const Expr inside = ir::max(ir::min(place, length - ir::index(1)), ir::index(0));
    return ir::substitute(expr, {{scatter.axes[0].get(), inside}});
  };
  stages::search_in(search, ir::index(0), length, ir::as_int(length).value_or(-1),
                    [&](const Expr& place) { return at(scatter.target[0], place) >= point; });
  const Expr found = search.accumulators[0].left;
  const Expr aims = found < length && at(scatter.target[0], found) == point;
  search.result =
      ir::select(aims, at(scatter.values[0], found), ir::load(scatter.initial, {point}));
  return search;
}

// Updates sorted by where they aim, so that each point searches for its own: the logarithm of their
// number a point, where looking through all of them takes their number.
class SortForm {
 public:
  // More updates than that are sorted.
  static constexpr int64_t few = 64;

  explicit SortForm(const stages::Stage& scatter) : scatter_(scatter) {
    for (size_t i = 0; i < scatter.axes.size(); ++i) {
      const auto place = passed_to(i);
      (place ? passed_ : sorted_).push_back(i);
      if (place) to_[i] = *place;
    }
    for (const size_t i : sorted_) updates_ = updates_ * scatter.extents[i];
    updates_ = ir::simplify(updates_);
  }

  bool pays() const { return ir::as_int(updates_).value_or(0) > few; }

  std::vector<stages::Stage> stages() {
    // Axes that all of a row's targets hang on have sorts of their own.
    for (const size_t i : passed_) {
      const auto uses = [&](const Expr& e) { return e && ir::uses(e, scatter_.axes[i].get()); };
      bool row = uses(scatter_.condition);
      for (size_t d = 0; d < scatter_.target.size(); ++d)
        row = row || (d != to_[i] && uses(scatter_.target[d]));
      (row ? rows_ : free_).push_back(i);
    }
    const stages::Stage key = keys(), order = sort(key);
    made_.push_back(key);
    made_.push_back(order);
    made_.push_back(in_order(key.output, order.output));
    const ir::Buffer sorted = made_.back().output;
    ir::Buffer joined;
    if (!scatter_.accumulators.empty()) {
      made_.push_back(running(order.output, sorted));
      joined = made_.back().output;
    }
    made_.push_back(found(order.output, sorted, joined));
    return std::move(made_);
  }

 private:
  // The index of the target that is this axis, over all of the output, and no other one.
  std::optional<size_t> passed_to(size_t axis) const {
    for (size_t d = 0; d < scatter_.target.size(); ++d) {
      if (scatter_.target[d].get() == scatter_.axes[axis].get() &&
          ir::prove_equal(scatter_.extents[axis], scatter_.output->shape[d]))
        return d;
    }
    return std::nullopt;
  }

  bool is_key(size_t d) const {
    return std::ranges::none_of(passed_, [&](size_t i) { return to_.at(i) == d; });
  }

  stages::Stage stage(const char* what, stages::StageKind kind, ir::DType dtype,
                      const std::vector<size_t>& outer) const {
    stages::Stage one;
    one.kind = kind;
    one.name = scatter_.name + what;
    one.origin = scatter_.origin;
    for (const size_t i : outer) {
      one.axes.push_back(ir::var(cat("row", i)));
      one.extents.push_back(scatter_.extents[i]);
    }
    one.axes.push_back(ir::var("update"));
    one.extents.push_back(updates_);
    one.along = one.axes.size() - 1;
    one.output = ir::buffer(scatter_.output->name + what, dtype, one.extents);
    return one;
  }

  // The scatter's axes for an update, and for places along those that are passed on.
  ir::VarMap axes_at(const Expr& update, const std::unordered_map<size_t, Expr>& passed) const {
    ir::VarMap map;
    std::vector<Expr> extents;
    for (const size_t i : sorted_) extents.push_back(scatter_.extents[i]);
    const std::vector<Expr> point = stages::unravel(update, extents);
    for (size_t k = 0; k < sorted_.size(); ++k) map[scatter_.axes[sorted_[k]].get()] = point[k];
    for (const auto& [i, place] : passed) map[scatter_.axes[i].get()] = place;
    return map;
  }

  static std::unordered_map<size_t, Expr> places(const stages::Stage& one,
                                                 const std::vector<size_t>& outer) {
    std::unordered_map<size_t, Expr> all;
    for (size_t k = 0; k < outer.size(); ++k) all[outer[k]] = one.axes[k];
    return all;
  }

  // Row-major over the indices that updates choose; what aims nowhere has the last of all.
  stages::Stage keys() const {
    stages::Stage key = stage(".keys", stages::StageKind::compute, ir::DType::i32, rows_);
    Expr aim = ir::index(0);
    Expr inside = scatter_.condition ? scatter_.condition : ir::boolean(true);
    for (size_t d = 0; d < scatter_.target.size(); ++d) {
      if (!is_key(d)) continue;
      const Expr &target = scatter_.target[d], &extent = scatter_.output->shape[d];
      inside = inside && target >= ir::index(0) && target < extent;
      aim = aim * extent + target;
    }
    const Expr value =
        ir::select(inside, ir::cast(ir::DType::i32, aim), ir::highest(ir::DType::i32));
    key.result = ir::substitute(value, axes_at(key.axes.back(), places(key, rows_)));
    return key;
  }

  static Expr at(const ir::Buffer& buffer, const stages::Stage& one, size_t rows,
                 const Expr& place) {
    std::vector<Expr> point(one.axes.begin(), one.axes.begin() + static_cast<long>(rows));
    point.push_back(place);
    return ir::load(buffer, std::move(point));
  }

  stages::Stage sort(const stages::Stage& key) const {
    stages::Stage order = stage(".order", stages::StageKind::sort, ir::DType::i32, rows_);
    const Var place = ir::var("place");
    order.reduce_axes = {place};
    order.reduce_extents = {updates_};
    order.values = {at(key.output, order, rows_.size(), place)};
    const Var left = ir::var("left", ir::DType::i32), right = ir::var("right", ir::DType::i32);
    order.accumulators = {{left, right, Expr(left) < Expr(right), {}}};
    return order;
  }

  stages::Stage in_order(const ir::Buffer& key, const ir::Buffer& order) const {
    stages::Stage sorted = stage(".sorted", stages::StageKind::compute, ir::DType::i32, rows_);
    const Expr from = at(order, sorted, rows_.size(), sorted.axes.back());
    sorted.result = at(key, sorted, rows_.size(), ir::cast(ir::DType::index, from));
    return sorted;
  }

  // The join of the updates up to each one that aim at the same place.
  stages::Stage running(const ir::Buffer& order, const ir::Buffer& sorted) const {
    std::vector<size_t> outer = rows_;
    outer.insert(outer.end(), free_.begin(), free_.end());
    const stages::Accumulators& join = scatter_.accumulators;
    const ir::Type type = scatter_.values[0]->type;
    stages::Stage scan = stage(".joined", stages::StageKind::scan, type.dtype, outer);
    const Expr update = scan.axes.back(), before = ir::max(update - ir::index(1), ir::index(0));
    const size_t rows = rows_.size();
    const auto flag = [](const Expr& e) { return ir::cast(ir::DType::i32, e); };
    const Var from = ir::var("from", ir::DType::i32), begins = ir::var("begins", ir::DType::i32);
    const Var left = join[0].left, right = join[0].right;
    scan.accumulators = {
        {from, begins, ir::max(from, begins), ir::zero(ir::DType::i32)},
        {left, right, ir::select(begins != 0.0, right, join[0].joined), join[0].identity}};
    const Expr taken = ir::cast(ir::DType::index, at(order, scan, rows, update));
    scan.values = {flag(at(sorted, scan, rows, update) != at(sorted, scan, rows, before)),
                   ir::substitute(scatter_.values[0], axes_at(taken, places(scan, outer)))};
    scan.result = left;
    return scan;
  }

  stages::Stage found(const ir::Buffer& order, const ir::Buffer& sorted,
                      const ir::Buffer& joined) const {
    stages::Stage search;
    search.name = scatter_.name;
    search.origin = scatter_.origin;
    search.output = scatter_.output;
    search.extents = scatter_.output->shape;
    std::vector<Expr> point;
    Expr aim = ir::index(0);
    for (size_t d = 0; d < search.extents.size(); ++d) {
      search.axes.push_back(ir::var(cat("p", d)));
      point.push_back(search.axes.back());
      if (is_key(d)) aim = aim * search.extents[d] + point[d];
    }
    const Expr wanted = ir::cast(ir::DType::i32, aim);
    std::vector<Expr> row;
    std::unordered_map<size_t, Expr> passed;
    for (const size_t i : passed_) passed[i] = point[to_.at(i)];
    for (const size_t i : rows_) row.push_back(passed.at(i));
    const auto in_row = [&](const ir::Buffer& buffer, const Expr& place) {
      std::vector<Expr> at = row;
      at.push_back(ir::max(ir::min(place, updates_ - ir::index(1)), ir::index(0)));
      return ir::load(buffer, std::move(at));
    };
    // The last one that aims here or before.
    stages::search_in(search, ir::index(0), updates_, *ir::as_int(updates_),
                      [&](const Expr& place) { return in_row(sorted, place) > wanted; });
    const Expr last = Expr(search.accumulators[0].left) - ir::index(1);
    const Expr aims = last >= ir::index(0) && in_row(sorted, last) == wanted;
    const Expr start = ir::load(scatter_.initial, point);
    Expr value;
    if (joined) {
      std::vector<Expr> at = row;
      for (const size_t i : free_) at.push_back(passed.at(i));
      at.push_back(ir::max(last, ir::index(0)));
      const stages::Accumulators& join = scatter_.accumulators;
      value = ir::substitute(join[0].joined, {{join[0].left.get(), start},
                                              {join[0].right.get(), ir::load(joined, at)}});
    } else {
      const Expr taken = ir::cast(ir::DType::index, in_row(order, last));
      value = ir::substitute(scatter_.values[0], axes_at(taken, passed));
    }
    search.result = ir::select(aims, value, start);
    return search;
  }

  const stages::Stage& scatter_;
  std::vector<size_t> passed_, sorted_;  // axes: indices of the target, and others
  std::vector<size_t> rows_, free_;      // of those passed on: what targets hang on, and others
  std::unordered_map<size_t, size_t> to_;
  Expr updates_ = ir::index(1);
  std::vector<stages::Stage> made_;
};

}  // namespace

stages::Stage gather_form(const stages::Stage& scatter) {
  if (scatter.increasing) return search_form(scatter);
  if (auto choice = choice_form(scatter)) return *std::move(choice);
  stages::Stage gather;
  gather.kind = stages::StageKind::reduce;
  gather.name = scatter.name;
  gather.origin = scatter.origin;
  gather.output = scatter.output;
  gather.extents = scatter.output->shape;
  std::vector<Expr> point;
  for (size_t d = 0; d < gather.extents.size(); ++d) {
    gather.axes.push_back(ir::var("p" + std::to_string(d)));
    point.push_back(gather.axes.back());
  }
  gather.reduce_axes = scatter.axes;
  gather.reduce_extents = scatter.extents;
  Expr aims = ir::boolean(true);
  for (size_t d = 0; d < point.size(); ++d) aims = aims && scatter.target[d] == point[d];
  if (scatter.condition) aims = aims && scatter.condition;
  const Expr start = ir::load(scatter.initial, point);
  stages::Accumulators& accumulators = gather.accumulators;
  if (!scatter.accumulators.empty()) {
    accumulators = scatter.accumulators;
    const Expr& identity = accumulators[0].identity;
    gather.values = {ir::select(aims, scatter.values[0], identity)};
    gather.result = ir::substitute(
        accumulators[0].joined,
        {{accumulators[0].left.get(), start}, {accumulators[0].right.get(), accumulators[0].left}});
    return gather;
  }
  // Without a join the last update stands: accumulators (found, value).
  const ir::Type type = scatter.values[0]->type, flag = ir::DType::i32;
  const Var found = ir::var("found", flag), more = ir::var("found", flag);
  const Var last = ir::var("value", type), next = ir::var("value", type);
  accumulators = {{found, more, ir::max(found, more), ir::zero(flag)},
                  {last, next, ir::select(Expr(more) != 0.0, next, last), ir::zero(type)}};
  gather.values = {ir::select(aims, ir::constant_int(flag, 1), ir::zero(flag)), scatter.values[0]};
  gather.result = ir::select(Expr(found) != 0.0, last, start);
  return gather;
}

void gather_scatters(stages::Program& program, const Capabilities& capabilities) {
  stages::Program result;
  for (stages::Entry& entry : program) {
    if (!entry.stage() || entry.stage()->kind != stages::StageKind::scatter ||
        (!capabilities.texture_memory && writes_a_row(*entry.stage()))) {
      result.push_back(std::move(entry));
      continue;
    }
    stages::Stage& stage = *entry.stage();
    const ir::Buffer state = stage.initial ? ir::Buffer() : stage.output;
    if (state) {
      stage.initial = state;
      stage.output = ir::buffer(state->name + ".next", state->dtype, state->shape);
    }
    if (SortForm form(stage); !stage.increasing && !choice_form(stage) && form.pays()) {
      for (stages::Stage& one : form.stages()) result.emplace_back(std::move(one));
    } else {
      result.emplace_back(gather_form(stage));
    }
    if (!state) continue;
    stages::Stage step = stages::copy_stage(state->name + ".step", stage.output, state);
    step.origin = stage.origin;
    result.emplace_back(std::move(step));
  }
  program = std::move(result);
}

}  // namespace gossamer::rewrite
