#include "schedule/cached_factor.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/schedule.h"
#include "schedule/stage_in.h"

namespace gossamer::schedule {

using ir::Expr;
using ir::Stmt;

namespace {

// The only axis that a factor moves along; -1: there is none or are several.
int axis_of(const ops::Stage& stage, const Expr& factor) {
  int found = -1;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (!ir::uses(factor, stage.axes[i].get())) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

// The loops of an axis that run inside an invocation.
std::vector<LoopId> columns_of(const Nest& nest, int axis) {
  std::vector<LoopId> columns = nest.leaves(nest.axes[static_cast<size_t>(axis)]);
  std::erase_if(columns, [&](LoopId id) { return is_bound(nest.loop(id).kind); });
  return columns;
}

Expr factor_of(const ops::Stage& stage, int operand) {
  const Factors factors = factors_of(stage);
  return operand == 0 ? factors.a : factors.b;
}

}  // namespace

CachedFactor::CachedFactor(const ops::Stage& stage, const Nest& nest, Coordinates& coordinates)
    : nest_(nest), stage_(stage), step_(ir::var("step")), column_(ir::index(0)) {
  const int operand = nest.cached->operand;
  const Factors factors = factors_of(stage);
  const Expr factor = factor_of(stage, operand);
  const int axis = axis_of(stage, factor);
  columns_ = columns_of(nest, axis);
  for (LoopId id : columns_) {
    const Loop& loop = nest.loop(id);
    column_ = column_ * loop.extent + loop.var;
    count_ *= *ir::as_int(loop.extent);
  }
  length_ = *ir::as_int(stage.reduce_extents[0]);
  memory_ = ir::buffer("decoded", factor->type.dtype, {ir::index(length_), ir::index(count_)},
                       ir::Scope::priv);
  const auto at = static_cast<size_t>(axis);
  factor_ = ir::substitute(factor, {{stage.axes[at].get(), coordinates.of(nest.axes[at])},
                                    {stage.reduce_axes[0].get(), Expr(step_)}});
  const Expr read = ir::load(memory_, {stage.reduce_axes[0], column_});
  stage_.values[0] = operand == 0 ? read * factors.b : factors.a * read;
}

int64_t CachedFactor::bytes() const {
  return length_ * count_ * ir::byte_size(factor_->type.dtype);
}

Stmt CachedFactor::around(const Stmt& body) const {
  // Blocks, in which parts of the factor may stay the same, of straight pieces.
  const int64_t piece = length_ % 4 == 0 ? 4 : 1, block = length_ % 32 == 0 ? 32 / piece : 1;
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
  fill = ir::loop(outer, ir::index(length_ / piece / block), ir::LoopKind::serial, fill);
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
  if (stage_.reduce_axes.size() != 1 || !ir::as_int(stage_.reduce_extents[0]))
    return fail(what + "the reduction has no known length");
  if (axis_of(stage_, factor) < 0) return fail(what + "it moves along other than one axis");
  nest_.cached = Cached{loop, operand};
  steps_.push_back({Primitive::cache, {loop}, {operand}});
  return {};
}

Result<> check_cached(const Schedule& schedule) {
  const Nest& nest = schedule.nest();
  if (!nest.cached) return {};
  const std::string what = cat("operand ", nest.cached->operand, " is cached, ");
  const std::vector<LoopId> tile = nest.tile();
  const Expr factor = factor_of(schedule.stage(), nest.cached->operand);
  for (LoopId id : columns_of(nest, axis_of(schedule.stage(), factor))) {
    if (std::ranges::find(tile, id) == tile.end())
      return fail(cat(what, "but its loop ", nest.loop(id).name, " is outside of the tile"));
  }
  Coordinates coordinates(nest);
  const int64_t bytes = CachedFactor(schedule.stage(), nest, coordinates).bytes();
  const int64_t most = schedule.capabilities().max_private_bytes;
  if (bytes > most) return fail(cat(what, "which takes ", bytes, " bytes of at most ", most));
  return {};
}

}  // namespace gossamer::schedule
