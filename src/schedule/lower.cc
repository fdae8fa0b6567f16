#include "schedule/lower.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "schedule/cached_factor.h"
#include "schedule/coordinates.h"
#include "schedule/hold_inside.h"
#include "schedule/lower_loops.h"
#include "stages/access.h"
#include "stages/pattern.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;
using ir::Var;
using target::Capabilities;

// The dimensions that a kernel depends on, in order of appearance: what it uses and does not bind.
std::vector<Var> free_variables(const ir::Kernel& kernel) {
  std::set<const ir::Node*> bound;
  std::vector<Var> used;
  const auto on_expr = [&](const Expr& e) {
    const auto* var = ir::as<ir::VarNode>(e);
    if (var && std::ranges::none_of(used, [&](const Var& v) { return v.get() == var; })) {
      used.emplace_back(var);
    }
    return true;
  };
  ir::visit(
      kernel.body,
      [&](const Stmt& s) {
        if (const auto* loop = ir::as<ir::For>(s)) bound.insert(loop->var.get());
        if (const auto* let = ir::as<ir::Let>(s)) bound.insert(let->var.get());
        return true;
      },
      on_expr);
  for (const ir::Kernel::Param& param : kernel.params) {
    for (const Expr& extent : param.buffer->shape) ir::visit(extent, on_expr);
  }
  std::erase_if(used, [&](const Var& v) { return bound.contains(v.get()); });
  return used;
}

Stmt in_loops(const std::vector<std::pair<Var, Expr>>& loops, Stmt body) {
  for (auto it = loops.rbegin(); it != loops.rend(); ++it)
    body = ir::loop(it->first, it->second, ir::LoopKind::serial, body);
  return body;
}

// How many neighbours along its last axis an invocation of `row` writes: whole words of elements
// that may share them.
int neighbours_of(const stages::Stage& stage, const Capabilities& caps) {
  if (stage.axes.empty() || !may_share_words(stage.output->dtype, caps)) return 1;
  const Var& last = stage.axes.back();
  const auto extent = ir::as_int(stage.extents.back());
  const bool whole = extent && *extent % caps.vector_lanes == 0 &&
                     stage.target.back().get() == last.get() &&
                     ir::prove_equal(stage.extents.back(), stage.output->shape.back()) &&
                     std::none_of(stage.target.begin(), stage.target.end() - 1,
                                  [&](const Expr& e) { return ir::uses(e, last.get()); });
  return whole ? caps.vector_lanes : 1;
}

// An invocation an update, or some neighbours.
Stmt row(const stages::Stage& stage, const Capabilities& caps) {
  const int64_t group = caps.group_size, lanes = neighbours_of(stage, caps);
  std::vector<Expr> extents = stage.extents;
  if (lanes > 1) extents.back() = ir::index(*ir::as_int(extents.back()) / lanes);
  Expr updates = ir::index(1);
  for (const Expr& extent : extents) updates = updates * extent;
  updates = ir::simplify(updates);
  const Var item = ir::var("item"), invocation = ir::var("invocation"), lane = ir::var("lane");
  const Expr update = Expr(item) * ir::index(group) + invocation;
  ir::VarMap axes;
  std::vector<Expr> place = stages::unravel(update, extents);
  if (lanes > 1) place.back() = place.back() * ir::index(lanes) + lane;
  for (size_t i = 0; i < place.size(); ++i) axes[stage.axes[i].get()] = place[i];
  std::vector<Expr> target;
  Expr inside = update < updates;
  for (size_t d = 0; d < stage.target.size(); ++d) {
    target.push_back(ir::substitute(stage.target[d], axes));
    if (lanes > 1 && d + 1 == stage.target.size()) continue;
    inside = inside && target[d] >= ir::index(0) && target[d] < stage.output->shape[d];
  }
  Stmt store = ir::store(stage.output, target, ir::substitute(stage.values[0], axes));
  if (lanes > 1) store = ir::loop(lane, ir::index(lanes), ir::LoopKind::vectorized, store);
  const Stmt invocations =
      ir::loop(invocation, ir::index(group), ir::LoopKind::group, ir::branch(inside, store));
  return ir::loop(item, ir::simplify(stages::ceil_div(updates, group)), ir::LoopKind::grid,
                  invocations);
}

// How many leading axes tell rows of the output apart: each is the index of the target there, over
// the output's whole extent. With tables, all but the last axis.
size_t rows_of(const stages::Stage& stage) {
  if (stage.table) return stage.axes.size() - 1;
  size_t rows = 0;
  while (rows < stage.axes.size() && rows < stage.target.size() &&
         stage.target[rows].get() == stage.axes[rows].get() &&
         ir::prove_equal(stage.extents[rows], stage.output->shape[rows]))
    ++rows;
  return rows;
}

// A work item a row, with these loops inside.
Stmt in_rows(const stages::Stage& stage, size_t rows, const Stmt& body) {
  const Var item = ir::var("item");
  Expr count = ir::index(1), rest = item;
  ir::VarMap axes;
  for (size_t i = rows; i-- > 0;) {
    axes[stage.axes[i].get()] = i == 0 ? rest : ir::floormod(rest, stage.extents[i]);
    rest = ir::floordiv(rest, stage.extents[i]);
    count = count * stage.extents[i];
  }
  return ir::loop(item, ir::simplify(count), ir::LoopKind::grid, ir::substitute(body, axes));
}

Stmt tallied(const stages::Stage& stage, const Stmt& update) {
  const auto last = stage.axes.end() - 1;
  const auto counter = [&](const Expr& bucket) {
    std::vector<Expr> point(stage.axes.begin(), last);
    point.push_back(bucket);
    return point;
  };
  const Var bucket = ir::var("bucket");
  const Expr next = Expr(stage.tally) + ir::constant_int(stage.tally->type, 1);
  Stmt point = ir::block({ir::store(stage.table, counter(bucket), next), update});
  point = ir::let(bucket, stage.values[1],
                  ir::let(stage.tally, ir::load(stage.table, counter(bucket)), point));
  if (stage.condition) point = ir::branch(stage.condition, point);
  const Var& each = stage.reduce_axes[0];
  return ir::block({in_loops({{each, stage.reduce_extents[0]}},
                             ir::store(stage.table, counter(each), stage.starts[0])),
                    in_loops({{*last, stage.extents.back()}}, point)});
}

// Updates in order, a work item for those that are sure to aim elsewhere than the others: the
// output as it starts (a state already does), then the updates.
Stmt scatter(const stages::Stage& stage) {
  const bool counts = static_cast<bool>(stage.table);
  const size_t rows = rows_of(stage);
  std::vector<std::pair<Var, Expr>> copy, updates;
  std::vector<Expr> point;
  for (const Expr& extent : stage.output->shape) {
    const bool row = point.size() < rows && !counts;
    const Var axis = row ? stage.axes[point.size()] : ir::var("i" + std::to_string(point.size()));
    if (!row) copy.emplace_back(axis, extent);
    point.push_back(axis);
  }
  for (size_t i = rows; i < stage.axes.size(); ++i)
    updates.emplace_back(stage.axes[i], stage.extents[i]);
  Expr value = stage.values[0];
  if (const stages::Accumulators& accumulators = stage.accumulators; !accumulators.empty()) {
    value = ir::substitute(accumulators[0].joined,
                           {{accumulators[0].left.get(), ir::load(stage.output, stage.target)},
                            {accumulators[0].right.get(), value}});
  }
  std::vector<Expr> target = stage.target;
  Expr inside = stage.condition && !counts ? stage.condition : ir::boolean(true);
  if (stage.increasing) {
    // What is not chosen is written where the next one will be: no branch that depends on data.
    target[0] = target[0] + ir::cast(ir::DType::index, !ir::Condition(inside));
    inside = ir::boolean(true);
  }
  for (size_t d = counts ? target.size() : rows; d < target.size(); ++d)
    inside = inside && target[d] >= ir::index(0) && target[d] < stage.output->shape[d];
  const Stmt update = ir::branch(inside, ir::store(stage.output, target, value));
  std::vector<Stmt> steps;
  if (stage.initial)
    steps.push_back(in_loops(copy, ir::store(stage.output, point, ir::load(stage.initial, point))));
  steps.push_back(counts ? tallied(stage, update) : in_loops(updates, update));
  return in_rows(stage, rows, ir::block(std::move(steps)));
}

}  // namespace

ir::Kernel kernel_of(std::string name, const Stmt& body, std::span<const ir::Buffer> inputs,
                     std::span<const ir::Buffer> outputs) {
  ir::Kernel kernel;
  kernel.name = std::move(name);
  kernel.body = ir::simplify(body);
  for (const ir::Buffer& input : inputs) kernel.params.push_back({input, false, false});
  for (const ir::Buffer& output : outputs) kernel.params.push_back({output, true, false});
  kernel.scalars = free_variables(kernel);
  return kernel;
}

Result<> can_lower(const Schedule& schedule) {
  auto result = check(schedule);
  if (!result) result.error().where = cat("schedule of \"", schedule.stage().name, "\"");
  return result;
}

stages::Stage with_legal_loads(const stages::Stage& stage, const Schedule& schedule) {
  return schedule.capabilities().harmless_loads ? stage : hold_inside(stage, schedule.nest());
}

namespace {

Stmt in_outer_loops(const Nest& nest, Coordinates& coordinates, const Stmt& body) {
  std::vector<LoopId> serial = nest.outside();
  std::erase_if(serial, [&](LoopId id) { return is_bound(nest.loop(id).kind); });
  return in_nest(nest, coordinates, serial, body);
}

Stmt inside_invocation(const stages::Stage& stage, const Nest& nest, Coordinates& coordinates,
                       Destination destination) {
  destination.point = coordinates.of(nest.axes);
  if (nest.cached) {
    const CachedFactor cached(stage, nest, coordinates);
    const Stmt sums = reduction(cached.stage(), nest, destination, coordinates);
    return cached.around(in_outer_loops(nest, coordinates, sums));
  }
  Stmt body;
  if (stage.kind != stages::StageKind::compute) {
    body = reduction(stage, nest, destination, coordinates);
  } else {
    ir::VarMap map;
    for (size_t i = 0; i < stage.axes.size(); ++i) map[stage.axes[i].get()] = destination.point[i];
    body = store_to(nest, coordinates, destination, ir::substitute(stage.result, map));
  }
  return in_outer_loops(nest, coordinates, body);
}

}  // namespace

Stmt in_serial_loops(const Nest& nest, Coordinates& coordinates, const Stmt& body) {
  return at_invocation(nest, coordinates, in_outer_loops(nest, coordinates, body));
}

Stmt in_invocation(const stages::Stage& stage, const Nest& nest, const Destination& destination) {
  Coordinates coordinates(nest);
  return at_invocation(nest, coordinates, inside_invocation(stage, nest, coordinates, destination));
}

namespace {

// A tile of rows, or of lanes, along an axis whose extent only the run knows, has several forms in
// the kernel, and a run takes one of them. The last tile starts early enough to end at the end.
struct Rows {
  Expr enough;  // the form is for these runs; null: for all others
  Nest nest;
};

// Tiles of `rows` rows.
Nest with_rows(Nest nest, size_t split, int64_t rows) {
  nest.splits[split].tail = Tail::shift;
  nest.splits[split].factors[0] = rows;
  nest.loop(nest.splits[split].parts[1]).extent = ir::index(rows);
  return nest;
}

// Steps of forms that few runs take are not unrolled, because that takes time to compile.
Nest with_whole_steps(Nest nest) {
  for (Loop& loop : nest.loops) {
    if (loop.reduction && loop.kind == ir::LoopKind::unrolled) loop.kind = ir::LoopKind::serial;
  }
  return nest;
}

// The rows are shared out evenly: nine are two tiles of five, not of six. Most runs have whole
// tiles.
std::vector<Rows> even_rows(const Nest& nest, size_t split) {
  const Expr extent = nest.loop(nest.splits[split].whole).extent;
  const Expr tiles = nest.loop(nest.splits[split].parts[0]).extent;
  std::vector<Rows> forms;
  for (int64_t rows = nest.splits[split].factors[0]; rows > 0; --rows) {
    const Expr enough = rows > 1 ? extent > tiles * ir::index(rows - 1) : Expr();
    Nest form = with_rows(nest, split, rows);
    forms.push_back({enough, forms.empty() ? std::move(form) : with_whole_steps(std::move(form))});
  }
  return forms;
}

// If the run has fewer lanes than a tile of vectors, single vectors are used, then shorter ones.
std::vector<Rows> shorter_vectors(const Nest& nest, size_t split) {
  constexpr int64_t least = 4;  // still shorter ones gain little
  const std::vector<LoopId>& parts = nest.splits[split].parts;
  const LoopId lane = parts.back();
  const Expr extent = nest.loop(nest.splits[split].whole).extent;
  // The lanes as a loop of the one tile that there is: vectors of fewer, or all of them. Values
  // that several vectors would share are not cached.
  const auto fewer = [&](int64_t lanes) {
    Nest made = nest;
    made.cached.reset();
    made.splits[split].tail = Tail::exact;
    for (size_t vectors = 1; vectors + 1 < parts.size(); ++vectors)
      made.loop(parts[vectors]).extent = ir::index(1);
    made.loop(lane).extent = extent;
    LoopId outer = lane, inner = lane;
    if (lanes > 1) {
      const Loop& whole = nest.loop(lane);
      const auto add = [&](const char* suffix, Expr count) {
        Loop& loop = made.loops.emplace_back(whole);
        loop.name += suffix;
        loop.var = ir::var(loop.name);
        loop.extent = std::move(count);
        return static_cast<LoopId>(made.loops.size() - 1);
      };
      outer = add(".tile", stages::ceil_div(extent, lanes));
      inner = add(".part", ir::index(lanes));
      made.loop(lane).split = static_cast<int>(made.splits.size());
      made.splits.push_back({lane, {outer, inner}, {lanes}, Tail::shift, {}});
    }
    made.loop(outer).kind = ir::LoopKind::serial;
    // Where the accumulators start before the lanes, they start before what comes in their place.
    if (made.accumulators == lane) {
      const std::vector<LoopId>& order = nest.walks[0].order;
      const auto next = std::next(std::ranges::find(order, lane));
      made.accumulators = lanes > 1             ? std::optional(inner)
                          : next != order.end() ? std::optional(*next)
                                                : std::nullopt;
    }
    for (Walk& walk : made.walks) {
      const auto at = std::ranges::find(walk.order, lane);
      if (lanes > 1) {
        *at = inner;
      } else {
        walk.order.erase(at);
      }
      const auto grid = std::ranges::find_if(
          walk.order, [&](LoopId id) { return !is_bound(made.loop(id).kind); });
      walk.order.insert(grid, outer);
    }
    return parts.size() > 2 ? with_whole_steps(std::move(made)) : made;
  };
  int64_t all = 1;
  for (const int64_t factor : nest.splits[split].factors) all *= factor;
  Nest whole = nest;
  whole.splits[split].tail = Tail::shift;
  std::vector<Rows> forms{{extent >= ir::index(all), std::move(whole)}};
  const bool tile = parts.size() > 2;
  const int64_t step = tile ? 4 : 2;
  for (int64_t lanes = tile ? nest.splits[split].factors.back() : (all + 1) / 2; lanes >= least;
       lanes = (lanes + step - 1) / step)
    forms.push_back({extent >= ir::index(lanes), fewer(lanes)});
  forms.push_back({{}, fewer(1)});
  return forms;
}

// Where both are open, whole tiles of columns have forms for enough rows, for one, and for others;
// shorter vectors repeat rows. A factor is cached where many rows share it, if it
// `fits` (null: it does).
std::vector<Rows> rows_of_vectors(std::vector<Rows> vectors, size_t split, const Expr& fits) {
  constexpr int64_t many_tiles = 4;
  const Rows whole = std::move(vectors.front());
  const Split& rows = whole.nest.splits[split];
  const int64_t most = rows.factors[0];
  const Expr extent = whole.nest.loop(rows.whole).extent;
  std::vector<Rows> forms;
  const auto add = [&](const Expr& enough, Nest nest) {
    forms.push_back({enough ? Expr(whole.enough && enough) : whole.enough, std::move(nest)});
  };
  Nest plain = whole.nest;
  plain.cached.reset();
  if (whole.nest.cached) {
    const Expr many = extent >= ir::index(many_tiles * most);
    add(fits ? Expr(many && fits) : many, with_rows(whole.nest, split, most));
  }
  add(extent >= ir::index(most), with_rows(plain, split, most));
  add(extent <= ir::index(1), with_rows(plain, split, 1));
  add({}, with_whole_steps(std::move(plain)));
  forms.insert(forms.end(), std::next(vectors.begin()), vectors.end());
  return forms;
}

std::vector<Rows> forms_of_rows(const stages::Stage& stage, const Nest& nest) {
  const std::vector<LoopId> outside = nest.outside();
  const auto around = [&](LoopId leaf) {
    return is_bound(nest.loop(leaf).kind) ||
           (nest.cached && std::ranges::find(outside, leaf) != outside.end());
  };
  if (!nest.accumulates) return {};
  const std::optional<size_t> lanes = nest.clamped(ir::LoopKind::vectorized);
  std::optional<size_t> rows = nest.clamped(ir::LoopKind::unrolled);
  const auto is_inside = [&](size_t split) {
    return std::ranges::all_of(nest.leaves(nest.splits[split].parts[0]), around);
  };
  if (lanes && !is_inside(*lanes)) return {};
  if (rows && !is_inside(*rows)) rows.reset();
  if (!lanes) return rows ? even_rows(nest, *rows) : std::vector<Rows>{};
  std::vector<Rows> vectors = shorter_vectors(nest, *lanes);
  if (!rows) return vectors;
  Coordinates coordinates(nest);
  const Expr fits = nest.cached ? CachedFactor(stage, nest, coordinates).fits() : Expr();
  return rows_of_vectors(std::move(vectors), *rows, fits);
}

}  // namespace

Stmt in_forms(const stages::Stage& stage, const Schedule& schedule,
              const Destination& destination) {
  const Nest& nest = schedule.nest();
  const bool cuts =
      schedule.capabilities().group_size == 1 && stage.output->layout.memory != ir::Memory::texture;
  const auto forms = cuts ? forms_of_rows(stage, nest) : std::vector<Rows>{};
  if (forms.empty()) return in_invocation(stage, nest, destination);
  Stmt rows;
  for (const Rows& one : std::views::reverse(forms)) {
    Coordinates coordinates(one.nest);
    Stmt part = inside_invocation(stage, one.nest, coordinates, destination);
    rows = one.enough ? ir::branch(one.enough, std::move(part), rows) : std::move(part);
  }
  Coordinates coordinates(nest);
  return at_invocation(nest, coordinates, rows);
}

Stmt scatter_launch(const stages::Stage& stage, const Capabilities& caps) {
  const bool any_order = caps.group_size > 1 && writes_a_row(stage);
  return any_order ? row(stage, caps) : scatter(stage);
}

}  // namespace gossamer::schedule
