#include "schedule/key_walk.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/access.h"

namespace gossamer::schedule {

using ir::Expr;
using ir::Stmt;
using online::OnlinePart;
using online::OnlineTile;
using stages::Group;

KeyWalk::KeyWalk(const Group& group, std::span<const Schedule> schedules, const OnlineTile& tile)
    : last_(group.last()),
      online_(online::online_of(group)),
      schedules_(schedules),
      tile_(tile),
      row_(static_cast<size_t>(online_.row)),
      column_(static_cast<size_t>(online_.column)) {}

Stmt KeyWalk::for_tiles(const Stmt& body) const {
  const ir::Var block = ir::var("block");
  return ir::loop(block, stages::ceil_div(keys(), tile_.keys), ir::LoopKind::serial,
                  ir::let(last_.reduce_axes[0], Expr(block) * ir::index(tile_.keys), body));
}

// Keys that some row of the tile may see.
Expr KeyWalk::keys() const {
  const Expr all = last_.reduce_extents[0];
  if (!online_.bound.get()) return all;
  const Expr row = Expr(last_.axes[row_]) + ir::index(tile_.rows - 1);
  const Expr bound = ir::substitute(
      online_.bound, {{last_.axes[row_].get(), ir::min(row, last_.extents[row_] - ir::index(1))}});
  return ir::max(ir::min(all, bound), ir::index(0));
}

Stmt KeyWalk::store(const Expr& row, const Expr& column, const Expr& sum) const {
  const Expr at = Expr(last_.axes[row_]) + row;
  std::vector<Expr> where(last_.axes.begin(), last_.axes.end());
  where[row_] = at;
  where[column_] = column;
  const Expr result = ir::substitute(
      online_.result, {{online_.sum.get(), sum},
                       {online_.total.get(), ir::load(made(OnlinePart::totals), {row})},
                       {last_.axes[row_].get(), at},
                       {last_.axes[column_].get(), column}});
  return ir::store(last_.output, where, result);
}

Stmt KeyWalk::in_items(Stmt body) const {
  std::vector<Expr> extents = last_.extents;
  extents[row_] = stages::ceil_div(extents[row_], tile_.rows);
  extents[column_] = ir::index(1);
  Expr count = ir::index(1);
  for (const Expr& extent : extents) count = count * extent;
  const ir::Var item = ir::var("item");
  const std::vector<Expr> place = stages::unravel(item, extents);
  for (size_t i = 0; i < extents.size(); ++i) {
    if (i == column_) continue;
    Expr first = place[i];
    if (i == row_) {
      first = first * ir::index(tile_.rows);
      // On CPUs, the last tile starts early enough to end at the end.
      const auto known = ir::as_int(last_.extents[i]);
      if (tile_.part > 0 && known && *known >= tile_.rows && *known % tile_.rows != 0)
        first = ir::min(first, ir::index(*known - tile_.rows));
    }
    body = ir::let(last_.axes[i], first, body);
  }
  return ir::loop(item, ir::simplify(count), ir::LoopKind::grid, body);
}

}  // namespace gossamer::schedule
