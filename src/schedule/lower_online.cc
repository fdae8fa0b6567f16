// A walk over tiles of keys, whose stages the invocations of a workgroup compute one after the
// other.
#include <algorithm>
#include <functional>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "schedule/key_walk.h"
#include "schedule/lower_loops.h"
#include "schedule/lower_online.h"
#include "schedule/tile.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;
using online::OnlinePart;
using stages::Group;
using target::Capabilities;

class GroupWalk : public KeyWalk {
 public:
  using KeyWalk::KeyWalk;

  Stmt run() {
    const Schedule& sums = schedule(OnlinePart::sums);
    const Nest& nest = sums.nest();
    Coordinates coordinates(nest);
    const std::vector<LoopId> loops = nest.tile();
    const std::vector<Expr> cell = cell_of(nest, loops);
    const std::vector<Expr> point = coordinates.of(nest.axes);
    const ir::Buffer held =
        ir::buffer("sums", online_.sum->type.dtype, cell_shape_, ir::Scope::priv);

    stages::Stage weighted = sums.stage();
    const Expr scale = ir::load(made(OnlinePart::scales), {weighted.axes[0]});
    weighted.starts = {ir::load(held, cell) * scale};
    const Stmt add = alone(nest, in_invocation(weighted, nest, {.held = held, .cell = cell}));
    parts_.push_back(add);

    const Stmt walk = for_tiles(
        ir::block({each(OnlinePart::scores), ir::barrier(), each(OnlinePart::peaks), ir::barrier(),
                   each(OnlinePart::scales), each(OnlinePart::weights), ir::barrier(),
                   each(OnlinePart::totals), add, ir::barrier(), each(OnlinePart::tops)}));

    const auto at_each = [&](const Stmt& body) {
      return alone(nest, at_invocation(nest, coordinates, in_nest(nest, coordinates, loops, body)));
    };
    const Stmt start = at_each(ir::store(held, cell, ir::zero(held->dtype)));
    const Stmt finish = at_each(finished(point, held, cell));
    Stmt body = ir::block({start_rows(), start, ir::barrier(), walk, finish});
    body = ir::alloc(held, share_group_memory(body, parts_, group_bytes_));
    const ir::Buffer tiles[] = {made(OnlinePart::scores), made(OnlinePart::peaks),
                                made(OnlinePart::tops), made(OnlinePart::totals)};
    body = hold_in_group(tiles, body, group_bytes_);
    return in_items(ir::loop(invocation_, ir::index(tile_.invocations), ir::LoopKind::group, body));
  }

  // What a workgroup shares, after run().
  int64_t group_bytes() const { return group_bytes_; }

 private:
  Stmt alone(const Nest& nest, const Stmt& body) const {
    return inside_launch(nest, invocation_, body);
  }

  Stmt each(OnlinePart part) {
    const Schedule& one = schedule(part);
    parts_.push_back(
        alone(one.nest(), in_invocation(one.stage(), one.nest(), {.memory = one.stage().output})));
    return parts_.back();
  }

  // Where an invocation holds the sum of a point: rows, and in each what lies along the vectors.
  std::vector<Expr> cell_of(const Nest& nest, const std::vector<LoopId>& loops) {
    int64_t rows = 1, columns = 1;
    Expr row = ir::index(0), column = ir::index(0);
    for (const LoopId id : loops) {
      const Loop& loop = nest.loop(id);
      const bool vector = loop.kind == ir::LoopKind::vectorized;
      const int64_t extent = ir::as_int(loop.extent).value_or(1);
      Expr& place = vector ? column : row;
      place = place * ir::index(extent) + loop.var;
      (vector ? columns : rows) *= extent;
    }
    cell_shape_ = {ir::index(rows), ir::index(columns)};
    return {row, column};
  }

  Stmt start_rows() const {
    const Expr row = invocation_;
    const Stmt values =
        ir::block({ir::store(made(OnlinePart::tops), {row}, ir::lowest(ir::DType::f32)),
                   ir::store(made(OnlinePart::totals), {row}, ir::zero(ir::DType::f32))});
    return tile_.rows == tile_.invocations ? values
                                           : ir::branch(row < ir::index(tile_.rows), values);
  }

  Stmt finished(const std::vector<Expr>& point, const ir::Buffer& held,
                const std::vector<Expr>& cell) const {
    const Stmt stored = store(point[0], point[1], ir::load(held, cell));
    const Expr& rows = last_.extents[row_];
    const auto known = ir::as_int(rows);
    return known && *known % tile_.rows == 0
               ? stored
               : ir::branch(Expr(last_.axes[row_]) + point[0] < rows, stored);
  }

  int64_t group_bytes_ = 0;
  ir::Var invocation_ = ir::var("invocation");
  std::vector<Expr> cell_shape_;
  std::vector<Stmt> parts_;  // the stages of the walk
};

}  // namespace

Result<ir::Kernel> lower_online(const Group& group, std::span<const Schedule> schedules) {
  const Capabilities& caps = schedules[0].capabilities();
  if (caps.group_size == 1) return lower_online_vectors(group, schedules);
  for (const Schedule& schedule : schedules) GS_TRY(can_lower(schedule));
  GroupWalk walk(group, schedules, online::online_tile(group, caps));
  const Stmt body = walk.run();
  GS_TRY(check_group_bytes(walk.group_bytes(), caps));
  return kernel_of(title_of(group), body, inputs_of(group), outputs_of(group));
}

}  // namespace gossamer::schedule
