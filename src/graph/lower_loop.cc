// Loop, and what it has in common with Scan: the body's stages between steps of the host program.
// What a round hands to the next is a state: a tensor, or, for small integers whose elements are
// expressions, variables. A dimension that changes from round to round is a variable too.
#include <algorithm>

#include "graph/lowering.h"
#include "graph/text_parts.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ops/host_value.h"
#include "ops/states.h"

namespace gossamer::graph {
namespace {

constexpr int64_t most_rounds = (int64_t{1} << 31) - 1;
constexpr size_t most_host_elements = 64;
constexpr int64_t most_unrolled = 64;  // rounds, where a loop would do but for its body

}  // namespace

Lowering::Mark Lowering::mark() const { return {out_, origins_, constant_names_, reads_, bounds_}; }
void Lowering::go_back(const Mark& mark) {
  out_ = mark.out;
  origins_ = mark.origins;
  constant_names_ = mark.constant_names;
  reads_ = mark.reads;
  bounds_ = mark.bounds;
}

// A value that rounds hand on.
struct Lowering::Carried {
  std::string name;
  Tensor initial;
  bool on_host = false;
  std::vector<ir::Var> elements;   // on the host
  std::vector<ir::Var> dims;       // of the state; null where the extent never changes
  std::vector<ir::Var> next_dims;  // what the body makes of them
  ir::Buffer state;

  bool grows() const {
    return std::ranges::any_of(dims, [](const ir::Var& var) { return static_cast<bool>(var); });
  }
  std::vector<Expr> shape() const {
    std::vector<Expr> extents;
    for (size_t d = 0; d < dims.size(); ++d)
      extents.push_back(dims[d] ? Expr(dims[d]) : initial.shape()[d]);
    return extents;
  }
};

Lowering::Carried Lowering::carry(const std::string& name, const Tensor& initial) {
  Carried carried;
  carried.name = name;
  carried.initial = initial;
  carried.dims.resize(initial.shape().size());
  carried.next_dims.resize(initial.shape().size());
  const bool whole = ir::is_int(initial.dtype()) || initial.dtype() == ir::DType::boolean;
  carried.on_host =
      initial.host && whole && initial.host->size() <= most_host_elements &&
      std::ranges::all_of(initial.shape(), [](const Expr& e) { return ir::as_int(e).has_value(); });
  return carried;
}

// True when the body, given these states, makes values of the same form; else changes the form.
Result<bool> Lowering::settle(Carried& carried, const Tensor& next, const std::string& place) {
  if (next.dtype() != carried.initial.dtype() || next.rank() != carried.initial.rank()) {
    return fail_at(place, cat("makes \"", carried.name, "\" of another type or rank than it had"),
                   "only extents may change from round to round");
  }
  if (carried.on_host) {
    if (next.host && next.host->size() == carried.elements.size()) return true;
    carried.on_host = false;
    return false;
  }
  bool settled = true;
  for (size_t d = 0; d < carried.dims.size(); ++d) {
    if (carried.dims[d].get()) continue;
    if (ir::prove_equal(next.shape()[d], carried.initial.shape()[d], bounds_)) continue;
    carried.dims[d] = ir::var(cat(carried.name, ".dim", d));
    carried.next_dims[d] = ir::var(cat(carried.name, ".next", d));
    settled = false;
  }
  return settled;
}

// The state as the body sees it in a round.
Tensor Lowering::begin_round(Carried& carried) {
  if (carried.on_host) {
    carried.elements.clear();
    std::vector<Expr> values;
    for (size_t i = 0; i < carried.initial.host->size(); ++i) {
      carried.elements.push_back(ir::var(cat(carried.name, ".", i)));
      values.push_back(carried.elements.back());
    }
    return add_host_tensor(carried.name, carried.initial.buffer, std::move(values));
  }
  carried.state = ir::buffer(cat(carried.name, ".state"), carried.initial.dtype(), carried.shape());
  return {carried.state, std::nullopt};
}

// Before the first round.
void Lowering::start(const Carried& carried, ops::Program& program,
                     const std::string& origin) const {
  if (carried.on_host) {
    program.push_back(ops::set_step(carried.elements, *carried.initial.host));
    return;
  }
  std::vector<ir::Var> variables;
  std::vector<Expr> extents;
  for (size_t d = 0; d < carried.dims.size(); ++d) {
    if (!carried.dims[d].get()) continue;
    variables.push_back(carried.dims[d]);
    extents.push_back(carried.initial.shape()[d]);
  }
  if (!variables.empty()) program.push_back(ops::set_step(variables, extents));
  ops::Stage stage =
      ops::copy_stage(cat(carried.name, ".initial"), carried.initial.buffer, carried.state);
  stage.origin = origin;
  program.push_back(std::move(stage));
}

// After the body: all next values are made before any state changes. Memory of a growing state is
// laid out by its variables, so its next value waits in a tensor of the next extents.
void Lowering::advance(std::vector<Carried>& all, const std::vector<Tensor>& next,
                       const std::string& origin) {
  std::vector<ir::Buffer> states, values;
  std::vector<ir::Var> variables;
  std::vector<Expr> numbers;
  for (size_t k = 0; k < all.size(); ++k) {
    Carried& carried = all[k];
    if (carried.on_host) {
      variables.insert(variables.end(), carried.elements.begin(), carried.elements.end());
      numbers.insert(numbers.end(), next[k].host->begin(), next[k].host->end());
      continue;
    }
    ir::Buffer value = next[k].buffer;
    if (carried.grows()) {
      std::vector<ir::Var> waiting;
      std::vector<Expr> extents, shape;
      for (size_t d = 0; d < carried.dims.size(); ++d) {
        shape.push_back(carried.dims[d] ? Expr(carried.next_dims[d]) : carried.initial.shape()[d]);
        if (!carried.dims[d].get()) continue;
        waiting.push_back(carried.next_dims[d]);
        extents.push_back(next[k].shape()[d]);
        variables.push_back(carried.dims[d]);
        numbers.emplace_back(carried.next_dims[d]);
      }
      out_.program.push_back(ops::set_step(waiting, extents));
      const ir::Buffer made = ir::buffer(cat(carried.name, ".next"), value->dtype, shape);
      add_stage(ops::copy_stage(made->name, value, made), origin);
      value = made;
    }
    states.push_back(carried.state);
    values.push_back(value);
  }
  std::vector<ops::Stage> copies = ops::advance_states(states, values);
  for (ops::Stage& stage : copies) stage.origin = origin;
  // A temporary of advance_states reads a state, whose extents must still be the old ones.
  const auto is_state = [&](const ops::Stage& stage) {
    return std::ranges::any_of(states,
                               [&](const ir::Buffer& state) { return stage.output.same(state); });
  };
  for (ops::Stage& stage : copies) {
    if (!is_state(stage)) out_.program.push_back(std::move(stage));
  }
  if (!variables.empty()) out_.program.push_back(ops::set_step(variables, numbers));
  for (ops::Stage& stage : copies) {
    if (is_state(stage)) out_.program.push_back(std::move(stage));
  }
}

// A state after the last round.
Tensor Lowering::finish(const Carried& carried) {
  if (!carried.on_host) return {carried.state, std::nullopt};
  return add_host_tensor(cat(carried.name, ".final"), carried.initial.buffer,
                         {carried.elements.begin(), carried.elements.end()});
}

Result<std::vector<Tensor>> Lowering::repeat(const Repeat& what, const Values& values) {
  const std::string place = cat("[", what.node.def->name, "] \"", what.node.name, "\"");
  const std::string origin = cat(what.node.def->name, " \"", what.node.name, "\"");
  const Graph& body = *what.node.regions[0];
  const size_t states = what.initial.size();
  const size_t first_row = what.has_condition ? 1 + states : states;
  if (body.outputs.size() < first_row) return fail_at(place, "has a body with too few outputs");
  std::vector<Carried> carried;
  std::vector<bool> texts;  // of states, then of rows
  for (size_t k = 0; k < states; ++k) {
    const std::string& called = body.values[body.inputs[what.first_state + k]].name;
    texts.push_back(is_text(what.initial[k]));
    for (const Tensor& part : parts_of({what.initial[k]}))
      carried.push_back(carry(cat(what.node.name, "/", called,
                                  part.buffer.same(what.initial[k].lengths) ? ".lengths" : ""),
                              part));
  }
  const std::string name = what.node.name;
  const ir::Var round = ir::var(cat(name, ".round"));

  // Until the states' forms stay as they are from round to round.
  const Mark before = mark();
  Region region;
  std::vector<Tensor> next_states, next_rows;  // of the region, in parts
  std::vector<std::string> row_names;
  for (bool settled = false; !settled;) {
    go_back(before);
    const int64_t last = ir::as_int(what.rounds).value_or(most_rounds) - 1;
    bounds_.set(round.get(), {0, std::max<int64_t>(last, 0)});
    const size_t start = out_.program.size();
    std::vector<Item> inputs;
    for (Tensor& input : what.inputs(round)) inputs.emplace_back(std::move(input));
    std::vector<Tensor> begun;
    for (Carried& one : carried) begun.push_back(begin_round(one));
    for (Tensor& state : joined(begun, texts)) inputs.emplace_back(std::move(state));
    for (Tensor& row : what.rows(round)) inputs.emplace_back(std::move(row));
    if (inputs.size() != body.inputs.size()) {
      return fail_at(
          place, cat("has a body of ", body.inputs.size(), " inputs, it is given ", inputs.size()));
    }
    ops::Program prelude(
        std::make_move_iterator(out_.program.begin() + static_cast<std::ptrdiff_t>(start)),
        std::make_move_iterator(out_.program.end()));
    out_.program.erase(out_.program.begin() + static_cast<std::ptrdiff_t>(start),
                       out_.program.end());
    GS_ASSIGN(region, lower_region(body, values, inputs));
    for (const Item& output : region.outputs) {
      if (!output.tensor) return fail_at(place, "makes a sequence where it had a tensor");
    }
    region.program.insert(region.program.begin(), std::make_move_iterator(prelude.begin()),
                          std::make_move_iterator(prelude.end()));
    next_states.clear();
    for (size_t k = 0; k < states; ++k) {
      const Tensor& next = region.outputs[first_row - states + k].tensor;
      if (is_text(next) != texts[k]) {
        return fail_at(place,
                       cat("makes \"", carried[next_states.size()].name,
                           "\" of another type or rank than it had"),
                       "only extents may change from round to round");
      }
      for (Tensor& part : parts_of({next})) next_states.push_back(std::move(part));
    }
    settled = true;
    for (size_t k = 0; k < carried.size(); ++k) {
      GS_ASSIGN(const bool same, settle(carried[k], next_states[k], place));
      settled = settled && same;
    }
  }
  for (size_t i = first_row; i < body.outputs.size(); ++i) {
    const Tensor& row = region.outputs[i].tensor;
    texts.push_back(is_text(row));
    const std::string row_name = cat(what.node.name, "/", body.values[body.outputs[i]].name);
    row_names.push_back(row_name);
    if (is_text(row)) row_names.push_back(row_name + ".lengths");
    for (Tensor& part : parts_of({row})) next_rows.push_back(std::move(part));
  }
  const size_t rows = next_rows.size();
  bounds_ = before.bounds;

  // A condition that is not always true is a variable, tested before each round.
  ir::Var condition;
  bool endless = true;
  if (what.has_condition) {
    const Tensor& again = region.outputs[0].tensor;
    const auto now = again.host && again.host->size() == 1
                         ? ir::as_int(ir::simplify((*again.host)[0]))
                         : std::nullopt;
    endless = now && *now != 0 && ir::is_const(ir::simplify(what.condition), 1);
    if (!endless) condition = ir::var(cat(name, ".again"));
  }
  const bool counted = endless && !ir::is_const(what.rounds, most_rounds);
  // Rounds are counted in 32 bits; a condition is meant to end a loop long before.
  if (endless && what.wanted) {
    const std::string problem = cat("goes on for more than ", most_rounds, " rounds");
    const auto wanted = ir::as_int(what.wanted);
    if (wanted && *wanted > most_rounds) return fail_at(place, problem);
    if (!wanted) {
      add_check(what.wanted <= static_cast<double>(most_rounds), cat(place, ": ", problem));
    }
  }

  std::unordered_set<const ir::Node*> changing{round.get()};
  for (const Carried& one : carried) {
    for (const auto* list : {&one.elements, &one.dims}) {
      for (const ir::Var& var : *list) changing.insert(var.get());
    }
  }
  const auto changes_in_rounds = [&](const Expr& extent) {
    bool changes = region.uses_own(extent);
    ir::visit(extent, [&](const Expr& e) {
      changes = changes || changing.contains(e.get());
      return !changes;
    });
    return changes;
  };

  // Rows: in place where the number of rounds is known before them, else a state that grows.
  std::vector<Carried> grown;
  std::vector<int> growing(rows, -1);  // of each row: its place in `grown`
  std::vector<ir::Buffer> all_rows;
  ops::Program fills;
  for (size_t r = 0; r < rows; ++r) {
    const Tensor& row = next_rows[r];
    const std::string& row_name = row_names[r];
    std::vector<Expr> shape{what.rounds};
    for (const Expr& extent : row.shape()) {
      if (region.uses_own(extent)) {
        return fail_at(
            place, cat("stacks rows of \"", row_name, "\" whose size is only known in each round"));
      }
      shape.push_back(extent);
    }
    if (counted) {
      const ir::Buffer all = ir::buffer(cat(row_name, ".rows"), row.dtype(), shape);
      ops::Stage fill = ops::copy_stage(cat(row_name, ".fill"), all, all);
      fill.result = ir::zero(row.dtype());
      fill.origin = origin;
      fills.push_back(std::move(fill));
      all_rows.push_back(all);
      continue;
    }
    // None before the first round; an extent that a round decides is nothing until then.
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == 0 || changes_in_rounds(shape[d])) shape[d] = ir::index(0);
    }
    Carried one;
    one.name = row_name;
    one.initial = {ir::buffer(cat(row_name, ".none"), row.dtype(), shape), std::nullopt};
    one.dims.resize(shape.size());
    one.next_dims.resize(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d > 0 && !changes_in_rounds(row.shape()[d - 1])) continue;
      one.dims[d] = ir::var(cat(row_name, d == 0 ? ".count" : cat(".dim", d)));
      one.next_dims[d] = ir::var(cat(row_name, ".next", d));
    }
    one.state = ir::buffer(cat(row_name, ".rows"), row.dtype(), one.shape());
    ops::Stage none =
        ops::copy_stage(one.initial.buffer->name, one.initial.buffer, one.initial.buffer);
    none.result = ir::zero(row.dtype());
    none.origin = origin;
    fills.push_back(std::move(none));
    all_rows.push_back(one.state);
    growing[r] = static_cast<int>(grown.size());
    grown.push_back(std::move(one));
  }

  // The steps and stages, in order.
  for (const Carried& one : carried) start(one, out_.program, origin);
  std::ranges::move(fills, std::back_inserter(out_.program));
  for (const Carried& one : grown) start(one, out_.program, origin);
  if (condition) {
    out_.program.push_back(ops::set_step(
        {condition}, {ir::select(what.condition != 0.0, ir::index(1), ir::index(0))}));
  }
  out_.program.push_back(ops::loop_step(round, what.rounds, condition ? Expr(condition) : Expr()));
  std::ranges::move(region.program, std::back_inserter(out_.program));
  std::vector<Tensor> next = next_states;
  for (size_t r = 0; r < rows; ++r) {
    const Tensor& row = next_rows[r];
    if (growing[r] < 0) {
      add_stage(ops::row_stage(cat(all_rows[r]->name, ".row"), all_rows[r], round, row.buffer),
                origin);
      continue;
    }
    const Carried& one = grown[static_cast<size_t>(growing[r])];
    std::vector<Expr> shape{one.shape()[0] + ir::index(1)};
    shape.insert(shape.end(), row.shape().begin(), row.shape().end());
    next.push_back(add_compute(
        cat(one.name, ".longer"), row.dtype(), shape, [&](const std::vector<Expr>& point) {
          std::vector<Expr> at(point.begin() + 1, point.end()), old = point;
          const Expr last = Expr(one.dims[0]);
          old[0] = ir::min(point[0], ir::max(last - ir::index(1), ir::index(0)));
          return ir::select(point[0] < last, ir::load(one.state, old), ir::load(row.buffer, at));
        }));
    out_.program.back().stage()->origin = origin;
  }
  if (condition) {
    const Tensor again = region.outputs[0].tensor;
    if (again.host && again.host->size() == 1) {
      out_.program.push_back(ops::set_step(
          {condition}, {ir::select((*again.host)[0] != 0.0, ir::index(1), ir::index(0))}));
    } else {
      out_.program.push_back(ops::read_step(again.buffer, {condition}));
    }
  }
  std::vector<Carried> both = carried;
  both.insert(both.end(), grown.begin(), grown.end());
  advance(both, next, origin);
  out_.program.push_back(ops::end_step());

  std::vector<Tensor> results;
  for (const Carried& one : carried) results.push_back(finish(one));
  for (const ir::Buffer& all : all_rows) results.push_back({all, std::nullopt});
  return joined(results, texts);
}

Result<> Lowering::lower_loop(const Node& node, Values& values) {
  const std::string place = cat("[Loop] \"", node.name, "\"");
  if (node.inputs.size() < 2 || node.regions.size() != 1) {
    return fail_at(place, "needs a trip count, a condition and a body");
  }
  Repeat what(node);
  what.has_condition = true;
  what.first_state = 2;
  what.rounds = ir::index(most_rounds);
  what.condition = ir::index(1);
  if (node.inputs[0] != no_value) {
    auto count = scalar_value(values[node.inputs[0]], "the trip count");
    if (!count) return fail_at(place, count.error().message);
    what.wanted = ir::simplify(*count, bounds_);
    what.rounds =
        ir::simplify(ir::min(ir::max(*count, ir::index(0)), ir::index(most_rounds)), bounds_);
  }
  if (node.inputs[1] != no_value) {
    auto condition = scalar_value(values[node.inputs[1]], "the condition");
    if (!condition) return fail_at(place, condition.error().message);
    what.condition = ir::simplify(*condition, bounds_);
    if (ir::is_const(what.condition, 0)) what.rounds = ir::index(0);
  }
  bool carries_lists = false;
  for (size_t k = 2; k < node.inputs.size(); ++k) {
    if (node.inputs[k] == no_value) return fail_at(place, "lacks a value that it carries");
    const Item initial = known(values[node.inputs[k]]);
    carries_lists = carries_lists || !initial.tensor;
    what.initial.push_back(initial.tensor);
  }
  const auto rounds = ir::as_int(what.rounds);
  if (carries_lists) {
    if (!rounds || *rounds == most_rounds || !ir::as_int(what.condition)) {
      return fail_at(place,
                     "carries a sequence, so its trip count and its condition must be known when "
                     "compiling",
                     "make them constants, or compute them from shapes and lengths of sequences");
    }
    return unroll_loop(node, values, *rounds);
  }
  what.inputs = [&](const ir::Var& round) -> std::vector<Tensor> {
    const ir::Buffer scalar = ir::buffer(cat(node.name, "/round"), ir::DType::i64, {});
    const ir::Buffer flag = ir::buffer(cat(node.name, "/again"), ir::DType::boolean, {});
    return {add_host_tensor(scalar->name, scalar, {Expr(round)}),
            add_host_tensor(flag->name, flag, {ir::index(1)})};
  };
  what.rows = [](const ir::Var&) { return std::vector<Tensor>(); };
  const Mark before = mark();
  auto results = repeat(what, values);
  if (!results) {
    // Rounds that differ in more than numbers, when they are few.
    if (!rounds || *rounds > most_unrolled || !ir::as_int(what.condition))
      return std::unexpected(std::move(results).error());
    go_back(before);
    if (unroll_loop(node, values, *rounds)) return {};
    return std::unexpected(std::move(results).error());
  }
  for (size_t i = 0; i < node.outputs.size() && i < results->size(); ++i) {
    if (node.outputs[i] != no_value) values[node.outputs[i]] = std::move((*results)[i]);
  }
  return {};
}

}  // namespace gossamer::graph
