#include "schedule/stage_in.h"
#include "stages/factors.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;
using stages::Along;
using stages::Factors;

LoopId bound_to_group(const Nest& nest) {
  for (LoopId id : nest.walks[0].order) {
    if (nest.loop(id).kind == ir::LoopKind::group) return id;
  }
  return -1;
}

void add_parts(const Nest& nest, LoopId id, std::vector<LoopId>& parts) {
  const auto fuse = std::ranges::find(nest.fuses, id, &Fuse::whole);
  if (fuse == nest.fuses.end()) {
    parts.push_back(id);
    return;
  }
  for (LoopId part : fuse->parts) add_parts(nest, part, parts);
}

int64_t extent_of(const Nest& nest, LoopId id) {
  return ir::as_int(nest.loop(id).extent).value_or(0);
}

// Of `wanted`, the loops that a loop was divided into, in the order of its splits.
void find_parts(const Nest& nest, LoopId id, std::vector<LoopId>& wanted,
                std::vector<LoopId>& found) {
  if (const auto at = std::ranges::find(wanted, id); at != wanted.end()) {
    found.push_back(id);
    wanted.erase(at);
    return;
  }
  const Loop& loop = nest.loop(id);
  if (loop.split >= 0) {
    for (LoopId part : nest.splits[static_cast<size_t>(loop.split)].parts)
      find_parts(nest, part, wanted, found);
  } else if (loop.fuse >= 0) {
    find_parts(nest, nest.fuses[static_cast<size_t>(loop.fuse)].whole, wanted, found);
  }
}

bool is_contiguous(const Expr& factor, const ir::Var& var, const ir::Bounds& bounds) {
  return std::ranges::any_of(loads_of(factor), [&](const ir::Load* load) {
    return stages::along(*load, load->buffer->layout, var, 4, bounds) == Along::contiguous;
  });
}

}  // namespace

std::vector<LoopId> group_loops(const Nest& nest) {
  std::vector<LoopId> parts;
  if (const LoopId group = bound_to_group(nest); group >= 0) add_parts(nest, group, parts);
  return parts;
}

Joined joined_of(const Nest& nest) {
  Joined joined;
  joined.loop = nest.joined()[0];
  joined.extent = extent_of(nest, joined.loop);
  const std::vector<LoopId> group = group_loops(nest);
  for (size_t i = group.size(); group[--i] != joined.loop;)
    joined.stride *= extent_of(nest, group[i]);
  const LoopId bound = bound_to_group(nest);
  joined.invocation = nest.loop(bound).var;
  joined.invocations = extent_of(nest, bound);
  return joined;
}

int64_t handed_over(const Joined& joined) {
  return joined.invocations - joined.extent / 2 * joined.stride;
}

int64_t tile_bytes(const Schedule& schedule) {
  const Nest& nest = schedule.nest();
  Coordinates coordinates(nest);
  ir::VarMap map;
  for (size_t i = 0; i < nest.axes.size(); ++i)
    map[schedule.stage().axes[i].get()] = coordinates.of(nest.axes[i]);
  for (size_t r = 0; r < nest.walks[0].reduced.size(); ++r)
    map[schedule.stage().reduce_axes[r].get()] = coordinates.of(nest.walks[0].reduced[r]);
  const Factors factors = factors_of(schedule.stage());
  const std::vector<LoopId> loops = nest.inside(nest.walks[0]);
  int64_t bytes = 0;
  for (const StageIn& staged : nest.staged) {
    const Expr factor = ir::substitute(staged.operand == 0 ? factors.a : factors.b, map);
    const auto at = std::ranges::find(loops, staged.loop);
    bytes += OperandTile(nest, staged, factor, {at + 1, loops.end()}).bytes();
  }
  return bytes;
}

OperandTile::OperandTile(const Nest& nest, const StageIn& staged, Expr factor,
                         const std::vector<LoopId>& inside)
    : nest_(nest), staged_(staged), factor_(std::move(factor)) {
  order_loops(inside);
  const Loop& group = nest.loop(bound_to_group(nest));
  invocation_ = group.var;
  invocations_ = *ir::as_int(group.extent);
  for (LoopId id : loops_) elements_ *= extent_of(nest, id);
  if (!loops_.empty() && extent_of(nest, loops_.back()) % 4 == 0) lanes_ = 4;
  steps_ = (elements_ / lanes_ + invocations_ - 1) / invocations_;
  choose_padding();
  const std::string name = staged.operand == 0 ? "a.tile" : "b.tile";
  const ir::DType dtype = factor_->type.dtype;
  tile_ = ir::buffer(name, dtype, {ir::index(padded_elements())}, ir::Scope::group);
  registers_ = ir::buffer(name + ".next", dtype, {ir::index(steps_ * lanes_)}, ir::Scope::priv);
}

// Elements that are neighbours in the operand's memory are neighbours in the tile: the loops of the
// axis that runs along memory come last.
void OperandTile::order_loops(const std::vector<LoopId>& inside) {
  std::vector<LoopId> candidates = group_loops(nest_), used;
  candidates.insert(candidates.end(), inside.begin(), inside.end());
  ir::Bounds bounds;
  for (const Loop& loop : nest_.loops) {
    const auto extent = ir::as_int(loop.extent);
    bounds.set(loop.var.get(), extent ? ir::Range{0, *extent - 1} : ir::Range{0, ir::Range{}.high});
  }
  LoopId contiguous = -1;
  for (LoopId id : candidates) {
    const Loop& loop = nest_.loop(id);
    if (!ir::uses(factor_, loop.var.get())) continue;
    used.push_back(id);
    if (is_contiguous(factor_, loop.var, bounds)) contiguous = id;
  }
  std::vector<LoopId> roots = nest_.axes;
  roots.insert(roots.end(), nest_.walks[0].reduced.begin(), nest_.walks[0].reduced.end());
  std::vector<LoopId> last;
  for (LoopId root : roots) {
    std::vector<LoopId> parts;
    find_parts(nest_, root, used, parts);
    const bool along = std::ranges::find(parts, contiguous) != parts.end();
    std::vector<LoopId>& order = along ? last : loops_;
    order.insert(order.end(), parts.begin(), parts.end());
  }
  loops_.insert(loops_.end(), last.begin(), last.end());
}

// Invocations that are neighbours read vectors of an operand at a distance where the operand is not
// stored along them. Group memory has banks, and a distance of some power of two is one bank for
// all.
void OperandTile::choose_padding() {
  const auto vectorized = std::ranges::find_if(
      loops_, [&](LoopId id) { return nest_.loop(id).kind == ir::LoopKind::vectorized; });
  if (vectorized == loops_.end() || vectorized == loops_.end() - 1 || lanes_ == 1) return;
  int64_t run = 1;
  for (auto at = vectorized; at != loops_.end(); ++at) run *= extent_of(nest_, *at);
  if (run == elements_ || 4 * (elements_ + elements_ / run * lanes_) > most_padded_bytes) return;
  run_ = run;
  padding_ = lanes_;
}

Expr OperandTile::padded(const Expr& element) const {
  return padding_ == 0 ? element : element + ir::floordiv(element, run_) * ir::index(padding_);
}

Expr OperandTile::value() const {
  Expr run = ir::index(0), place = ir::index(0);
  int64_t left = elements_;
  for (LoopId id : loops_) {
    place = place * nest_.loop(id).extent + nest_.loop(id).var;
    left /= std::max<int64_t>(extent_of(nest_, id), 1);
    if (padding_ > 0 && left == run_) run = std::exchange(place, ir::index(0));
  }
  return ir::load(tile_, {run * ir::index(run_ + padding_) + place});
}

Stmt OperandTile::alloc(const Stmt& body) const {
  return ir::alloc(tile_, staged_.ahead ? ir::alloc(registers_, body) : body);
}

// The loops' iterations follow from the number of the vector and the lane, the loop of the tile is
// in `iteration`.
Expr OperandTile::factor_at(const Expr& vector, const Expr& lane, const Expr& iteration) const {
  ir::VarMap map{{nest_.loop(staged_.loop).var.get(), iteration}};
  Expr rest = vector;
  for (size_t i = loops_.size(); i-- > 0;) {
    const Loop& loop = nest_.loop(loops_[i]);
    const bool is_last = i + 1 == loops_.size();
    const int64_t extent = extent_of(nest_, loops_[i]) / (is_last ? lanes_ : 1);
    Expr value = i == 0 ? rest : ir::floormod(rest, extent);
    rest = ir::floordiv(rest, extent);
    if (is_last) value = value * ir::index(lanes_) + lane;
    map[loop.var.get()] = value;
  }
  return ir::substitute(factor_, map);
}

Stmt OperandTile::copy(const Copy& body) const {
  const int64_t vectors = elements_ / lanes_;
  const ir::Var lane = ir::var("lane"), step = ir::var("step");
  const Expr number =
      steps_ == 1 ? invocation_ : Expr(step) * ir::index(invocations_) + invocation_;
  Stmt made =
      body(number * ir::index(lanes_) + lane, Expr(step) * ir::index(lanes_) + lane, number, lane);
  made = lanes_ == 1 ? ir::substitute(made, {{lane.get(), ir::index(0)}})
                     : ir::loop(lane, ir::index(lanes_), ir::LoopKind::vectorized, made);
  if (vectors % invocations_ != 0) made = ir::branch(number < ir::index(vectors), made);
  return ir::loop(step, ir::index(steps_), ir::LoopKind::unrolled, made);
}

Stmt OperandTile::prologue() const {
  if (!staged_.ahead) return {};
  return copy([&](const Expr&, const Expr& own, const Expr& vector, const Expr& lane) {
    return ir::store(registers_, {own}, factor_at(vector, lane, ir::index(0)));
  });
}

Stmt OperandTile::fill() const {
  return copy([&](const Expr& place, const Expr& own, const Expr& vector, const Expr& lane) {
    return ir::store(tile_, {padded(place)},
                     staged_.ahead ? ir::load(registers_, {own})
                                   : factor_at(vector, lane, nest_.loop(staged_.loop).var));
  });
}

Stmt OperandTile::fetch_next() const {
  if (!staged_.ahead) return {};
  const Loop& loop = nest_.loop(staged_.loop);
  const Expr next = Expr(loop.var) + ir::index(1);
  const Stmt fetch = copy([&](const Expr&, const Expr& own, const Expr& vector, const Expr& lane) {
    return ir::store(registers_, {own}, factor_at(vector, lane, next));
  });
  return ir::branch(next < loop.extent, fetch);
}

Result<> Schedule::stage_in(LoopId loop, int operand, bool ahead) {
  GS_TRY(serial(loop));
  const std::string what =
      cat("cannot stage operand ", operand, " in ", nest_.loop(loop).name, ": ");
  const Factors factors = factors_of(stage_);
  if (!factors.a.get()) return fail(what + "the stage is no sum of products");
  if (operand != 0 && operand != 1) return fail(what + "operands are 0 and 1");
  if (!nest_.loop(loop).reduction) return fail(what + "it is no loop of a reduction");
  if (nest_.walks.size() > 1)
    return fail(what + "a left-over walk was peeled off", "tiles need no peel: they hold zeros");
  const ir::Expr& factor = operand == 0 ? factors.a : factors.b;
  if (ir::byte_size(factor->type.dtype) != 4 || factor->type.dtype == ir::DType::index)
    return fail(
        cat(what, "group memory holds numbers of 32 bits, not ", ir::name_of(factor->type.dtype)));
  for (const StageIn& staged : nest_.staged) {
    if (staged.operand == operand) return fail(what + "it is staged already");
  }
  if (capabilities_.max_group_bytes == 0 || !capabilities_.harmless_loads)
    return fail(cat(what, name_of(capabilities_.kind), " has no group memory"));
  nest_.staged.push_back({loop, operand, ahead});
  steps_.push_back({Primitive::stage_in, {loop}, {operand}, Tail::exact, {}, {}, ahead});
  return {};
}

}  // namespace gossamer::schedule
