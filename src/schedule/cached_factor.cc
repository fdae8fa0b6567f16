#include "schedule/cached_factor.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/schedule.h"
#include "stages/factors.h"

namespace gossamer::schedule {

using ir::Expr;
using ir::Stmt;
using stages::Factors;
using stages::ScaledFactor;

namespace {

// The loops that tell elements of a factor apart and run inside an invocation, outermost first.
std::vector<LoopId> columns_of(const stages::Stage& stage, const Nest& nest, const Expr& factor) {
  std::vector<LoopId> columns;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (!ir::uses(factor, stage.axes[i].get())) continue;
    for (const LoopId id : nest.leaves(nest.axes[i]))
      if (!is_bound(nest.loop(id).kind)) columns.push_back(id);
  }
  return columns;
}

Expr factor_of(const stages::Stage& stage, int operand) {
  const Factors factors = factors_of(stage);
  return operand == 0 ? factors.a : factors.b;
}

}  // namespace

CachedFactor::CachedFactor(const stages::Stage& stage, const Nest& nest, Coordinates& coordinates)
    : nest_(nest), stage_(stage), step_(ir::var("step")), column_(ir::index(0)) {
  const int operand = nest.cached->operand;
  const Factors factors = factors_of(stage);
  const Expr factor = factor_of(stage, operand);
  columns_ = columns_of(stage, nest, factor);
  for (LoopId id : columns_) {
    const Loop& loop = nest.loop(id);
    column_ = column_ * loop.extent + loop.var;
    count_ *= *ir::as_int(loop.extent);
  }
  length_ = stage.reduce_extents[0];
  const int64_t column_bytes = count_ * ir::byte_size(factor->type.dtype);
  steps_ = ir::as_int(length_).value_or(nest.cached->most_bytes / column_bytes);
  memory_ = ir::buffer("factor", factor->type.dtype, {ir::index(steps_), ir::index(count_)},
                       ir::Scope::priv);
  ir::VarMap places{{stage.reduce_axes[0].get(), Expr(step_)}};
  for (size_t i = 0; i < stage.axes.size(); ++i)
    if (ir::uses(factor, stage.axes[i].get()))
      places[stage.axes[i].get()] = coordinates.of(nest.axes[i]);
  const ScaledFactor parts = stages::scaled_in_blocks(factor, stage.reduce_axes[0]);
  factor_ = ir::substitute(parts.factor, places);
  Expr read = ir::load(memory_, {stage.reduce_axes[0], column_});
  if (parts.scale) read = read * parts.scale;
  stage_.values[0] = operand == 0 ? read * factors.b : factors.a * read;
}

int64_t CachedFactor::bytes() const { return steps_ * count_ * ir::byte_size(factor_->type.dtype); }

Expr CachedFactor::fits() const {
  return ir::as_int(length_) ? Expr() : length_ <= ir::index(steps_);
}

Stmt CachedFactor::around(const Stmt& body) const {
  // Blocks, in which parts of the factor may stay the same, of straight pieces.
  const bool known = ir::as_int(length_).has_value();
  const int64_t piece = known && steps_ % 4 == 0 ? 4 : 1;
  const int64_t block = known && steps_ % 32 == 0 ? 32 / piece : 1;
  const ir::Var outer = ir::var("step.block"), middle = ir::var("step.piece"),
                inner = ir::var("step.part");
  const Expr step = (Expr(outer) * ir::index(block) + middle) * ir::index(piece) + inner;
  Stmt fill = ir::substitute(ir::store(memory_, {step_, column_}, factor_), {{step_.get(), step}});
  for (auto id = columns_.rbegin(); id != columns_.rend(); ++id) {
    const Loop& loop = nest_.loop(*id);
    fill = ir::loop(loop.var, loop.extent, loop.kind, fill);
  }
  fill = ir::loop(inner, ir::index(piece), ir::LoopKind::unrolled, fill);
  fill = ir::loop(middle, ir::index(block), ir::LoopKind::serial, fill);
  fill = ir::loop(outer, ir::simplify(ir::floordiv(length_, piece * block)), ir::LoopKind::serial,
                  fill);
  return ir::alloc(memory_, ir::block({fill, body}));
}

Result<> Schedule::cache(LoopId loop, int operand) {
  GS_TRY(serial(loop));
  const std::string what =
      cat("cannot cache operand ", operand, " in ", nest_.loop(loop).name, ": ");
  if (operand != 0 && operand != 1) return fail(what + "operands are 0 and 1");
  if (loop != order().front() || nest_.loop(loop).reduction)
    return fail(what + "it is not the outermost loop");
  if (nest_.cached) return fail(what + "an operand is cached already");
  if (capabilities_.max_private_bytes == 0)
    return fail(cat(what, "work items of ", name_of(capabilities_.kind), " have no such memory"));
  const Expr factor = factor_of(stage_, operand);
  if (!factor.get()) return fail(what + "the stage is not a sum of products");
  if (stage_.reduce_axes.size() != 1) return fail(what + "the reduction has several axes");
  if (std::ranges::none_of(stage_.axes, [&](const auto& a) { return ir::uses(factor, a.get()); }))
    return fail(what + "it moves along no axis");
  nest_.cached = Cached{loop, operand, capabilities_.max_private_bytes};
  steps_.push_back({Primitive::cache, {loop}, {operand}});
  return {};
}

Result<> check_cached(const Schedule& schedule) {
  const Nest& nest = schedule.nest();
  if (!nest.cached) return {};
  const std::string what = cat("operand ", nest.cached->operand, " is cached, ");
  const std::vector<LoopId> tile = nest.tile();
  const Expr factor = factor_of(schedule.stage(), nest.cached->operand);
  for (LoopId id : columns_of(schedule.stage(), nest, factor)) {
    if (std::ranges::find(tile, id) == tile.end())
      return fail(cat(what, "but its loop ", nest.loop(id).name, " is outside of the tile"));
  }
  Coordinates coordinates(nest);
  const int64_t most = nest.cached->most_bytes;
  const CachedFactor cached(schedule.stage(), nest, coordinates);
  if (cached.fits() &&
      (!nest.clamped(ir::LoopKind::vectorized) || !nest.clamped(ir::LoopKind::unrolled)))
    return fail(what + "but only a run knows the length of the reduction",
                "split rows and lanes with the tail clamp");
  const int64_t bytes = cached.bytes();
  if (bytes > most) return fail(cat(what, "which takes ", bytes, " bytes of at most ", most));
  return {};
}

}  // namespace gossamer::schedule
