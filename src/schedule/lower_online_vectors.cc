// A walk over tiles of keys in one work item, whose private memory holds a tile of everything.
#include <algorithm>
#include <functional>

#include "ir/build.h"
#include "ir/simplify.h"
#include "schedule/key_walk.h"
#include "schedule/lower_loops.h"
#include "schedule/lower_online.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;
using online::OnlinePart;
using online::OnlineTile;
using online::vector_parts;
using stages::Group;
using target::Capabilities;

class VectorWalk : public KeyWalk {
 public:
  using KeyWalk::KeyWalk;

  // Memory is allocated around what fills and reads it: what is filled once and then only read need
  // not be read again after each store.
  Stmt body() const {
    using enum OnlinePart;
    const auto holding = [&](OnlinePart part, std::vector<Stmt> steps) {
      return ir::alloc(made(part), ir::block(std::move(steps)));
    };
    const auto with_copy = [&](OnlinePart copy, OnlinePart reader) {
      return reads(reader, copy) ? holding(copy, {each(copy), each(reader)}) : each(reader);
    };
    Stmt walk = with_copy(values, sums);
    walk = holding(weights, {each(weights), each(totals), walk});
    walk = holding(scales, {each(scales), each(tops), walk});
    walk = holding(peaks, {each(peaks), walk});
    walk = holding(scores, {with_copy(keys, scores), walk});
    Stmt body = holding(queries, {each(queries), start(), for_tiles(walk), finish()});
    for (const OnlinePart part : {tops, totals, sums}) body = ir::alloc(made(part), body);
    return body;
  }

  Stmt in_items(const Stmt& body) const { return KeyWalk::in_items(body); }

 private:
  bool reads(OnlinePart reader, OnlinePart copy) const {
    const std::vector<const ir::Load*> loads = loads_of(schedule(reader).stage().values);
    return std::ranges::any_of(loads,
                               [&](const ir::Load* load) { return load->buffer.same(made(copy)); });
  }

  Stmt each(OnlinePart part) const {
    const Schedule& one = schedule(part);
    const stages::Stage stage = with_legal_loads(one.stage(), one);
    return inside_launch(one.nest(), {},
                         in_invocation(stage, one.nest(), {.memory = stage.output}));
  }

  // The body for all elements of a row of memory, in vectors.
  Stmt in_lanes(int64_t extent, const std::function<Stmt(const Expr&)>& body) const {
    int64_t lanes = schedules_[0].capabilities().vector_lanes;
    while (extent % lanes != 0) lanes /= 2;
    const ir::Var vector = ir::var("vector"), lane = ir::var("lane");
    return ir::loop(vector, ir::index(extent / lanes), ir::LoopKind::serial,
                    ir::loop(lane, ir::index(lanes), ir::LoopKind::vectorized,
                             body(Expr(vector) * ir::index(lanes) + lane)));
  }

  int64_t columns() const { return *ir::as_int(last_.extents[column_]); }

  Stmt start() const {
    const auto fill = [&](OnlinePart part, const Expr& value) {
      return in_lanes(tile_.rows,
                      [&](const Expr& row) { return ir::store(made(part), {row}, value); });
    };
    const Expr zero = ir::zero(ir::DType::f32);
    const ir::Var row = ir::var("row");
    const Stmt sum = in_lanes(columns(), [&](const Expr& column) {
      return ir::store(made(OnlinePart::sums), {row, column}, zero);
    });
    return ir::block({fill(OnlinePart::tops, ir::lowest(ir::DType::f32)),
                      fill(OnlinePart::totals, zero),
                      ir::loop(row, ir::index(tile_.rows), ir::LoopKind::serial, sum)});
  }

  Stmt finish() const {
    const ir::Var row = ir::var("row");
    const Stmt stores = in_lanes(columns(), [&](const Expr& column) {
      return store(row, column, ir::load(made(OnlinePart::sums), {row, column}));
    });
    const Expr left = last_.extents[row_] - Expr(last_.axes[row_]);
    const Expr rows = ir::simplify(ir::min(left, ir::index(tile_.rows)));
    return ir::loop(row, rows, ir::LoopKind::serial, stores);
  }
};

}  // namespace

Result<ir::Kernel> lower_online_vectors(const Group& group, std::span<const Schedule> schedules) {
  for (const Schedule& schedule : schedules) GS_TRY(can_lower(schedule));
  const Capabilities& caps = schedules[0].capabilities();
  const VectorWalk walk(group, schedules, online::online_tile(group, caps));
  Stmt body = walk.body();
  if (schedules.size() > vector_parts) {
    const OnlineTile narrow = online::narrow_tile(group, caps);
    const auto row = static_cast<size_t>(online::online_of(group).row);
    const Expr left = group.last().extents[row] - Expr(group.last().axes[row]);
    body = ir::branch(left > ir::index(narrow.rows), body,
                      VectorWalk(group, schedules.subspan(vector_parts), narrow).body());
  }
  return kernel_of(title_of(group), walk.in_items(body), inputs_of(group), outputs_of(group));
}

}  // namespace gossamer::schedule
