#include <algorithm>
#include <functional>
#include <map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "schedule/access.h"
#include "schedule/lower_loops.h"
#include "schedule/tile.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

// What the workgroup holds of a stage's tile, by the stage's output.
using Held = std::map<const ir::BufferNode*, ir::Buffer>;

Held held_by(const Group& group) {
  Held held;
  for (const auto& [stage, rows, written] : group.members) {
    const ir::Buffer& made = stage.output;
    if (std::ranges::none_of(group.members, [&](const Member& m) { return reads(m.stage, made); }))
      continue;
    held[stage.output.get()] = ir::buffer(
        stage.name, stage.output->dtype,
        {stage.extents.begin() + static_cast<std::ptrdiff_t>(group.outer), stage.extents.end()},
        ir::Scope::group);
  }
  return held;
}

std::vector<Expr> inner_of(const std::vector<Expr>& all, size_t outer) {
  return {all.begin() + static_cast<std::ptrdiff_t>(outer), all.end()};
}

// Stores in one buffer as stores in another, behind the first indices of that.
Stmt moved_stores(const Stmt& body, const ir::Buffer& from, const ir::Buffer& to,
                  const std::vector<Expr>& first) {
  ir::Rewriter rewriter;
  rewriter.stmt = [&](const Stmt& s) -> Stmt {
    const auto* store = ir::as<ir::Store>(s);
    if (!store || !store->buffer.same(from)) return {};
    std::vector<Expr> indices = first;
    indices.insert(indices.end(), store->indices.begin(), store->indices.end());
    return ir::store(to, std::move(indices), store->value);
  };
  return ir::rewrite(body, rewriter);
}

int64_t elements_of(const ir::Buffer& buffer) {
  int64_t elements = 1;
  for (const Expr& extent : buffer->shape) elements *= *ir::as_int(extent);
  return elements;
}

// Every place of a buffer, `invocations` at a time.
Stmt each_place(const ir::Buffer& buffer, const ir::Var& invocation, int64_t invocations,
                const std::function<Stmt(const std::vector<Expr>&)>& body) {
  const int64_t places = elements_of(buffer);
  const ir::Var step = ir::var("step");
  const Expr place = Expr(step) * ir::index(invocations) + invocation;
  const Stmt at = body(unravel(place, buffer->shape));
  return ir::loop(step, ir::index((places + invocations - 1) / invocations), ir::LoopKind::unrolled,
                  places % invocations == 0 ? at : ir::branch(place < ir::index(places), at));
}

}  // namespace

std::vector<ops::Stage> tile_stages(const Group& group) {
  const Held held = held_by(group);
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    const auto found = load ? held.find(load->buffer.get()) : held.end();
    if (found == held.end()) return {};
    return ir::load(found->second, inner_of(load->indices, group.outer));
  };
  std::vector<ops::Stage> stages;
  for (const Member& member : group.members) {
    ops::Stage& stage = stages.emplace_back(member.stage);
    ops::visit_exprs(stage, ops::may_load, [&](Expr& e) { e = ir::rewrite(e, rewriter); });
    stage.axes.erase(stage.axes.begin(),
                     stage.axes.begin() + static_cast<std::ptrdiff_t>(group.outer));
    stage.extents = inner_of(stage.extents, group.outer);
    const auto found = held.find(stage.output.get());
    stage.output = found != held.end() ? found->second
                                       : ir::buffer(stage.name, stage.output->dtype, stage.extents);
  }
  return stages;
}

Stmt share_group_memory(const Stmt& body, std::span<const Stmt> parts, int64_t& bytes) {
  std::vector<std::vector<ir::Buffer>> tiles;  // of each part, largest first
  std::vector<ir::Buffer> shared;
  const auto size_of = [](const ir::Buffer& b) { return *ir::as_int(b->shape[0]); };
  for (const Stmt& part : parts) {
    std::vector<ir::Buffer>& own = tiles.emplace_back();
    const auto on_stmt = [&](const Stmt& s) {
      const auto* alloc = ir::as<ir::Alloc>(s);
      if (alloc && alloc->buffer->scope == ir::Scope::group) own.push_back(alloc->buffer);
      return true;
    };
    ir::visit(part, on_stmt, [](const Expr&) { return false; });
    std::ranges::sort(own, std::greater{}, size_of);
    for (size_t i = 0; i < own.size(); ++i) {
      if (i == shared.size()) shared.push_back(own[i]);
      if (size_of(own[i]) > size_of(shared[i])) shared[i] = own[i];
    }
  }
  ir::BufferMap map;
  for (const std::vector<ir::Buffer>& own : tiles) {
    for (size_t i = 0; i < own.size(); ++i) map[own[i].get()] = shared[i];
  }
  ir::Rewriter rewriter;
  rewriter.stmt = [&](const Stmt& s) -> Stmt {
    const auto* alloc = ir::as<ir::Alloc>(s);
    return alloc && map.contains(alloc->buffer.get()) ? alloc->body : Stmt();
  };
  Stmt result = ir::substitute_buffers(ir::rewrite(body, rewriter), map);
  for (const ir::Buffer& tile : shared) {
    result = ir::alloc(tile, result);
    bytes += 4 * size_of(tile);
  }
  return result;
}

Stmt hold_in_group(std::span<const ir::Buffer> tiles, Stmt body, int64_t& bytes) {
  for (const ir::Buffer& tile : tiles) {
    bytes += 4 * elements_of(tile);
    body = ir::alloc(tile, body);
  }
  return body;
}

Result<ir::Kernel> lower_tile(const Group& group, std::span<const Schedule> schedules) {
  const ops::Stage& last = group.last();
  const ir::Var item = ir::var("item"), invocation = ir::var("invocation");
  const int64_t invocations = schedules.back().group_size();
  std::vector<Expr> outer(last.axes.begin(),
                          last.axes.begin() + static_cast<std::ptrdiff_t>(group.outer));
  std::vector<Stmt> parts, steps;
  std::vector<ir::Buffer> held;
  for (size_t i = 0; i < group.members.size(); ++i) {
    const Schedule& schedule = schedules[i];
    GS_TRY(can_lower(schedule));
    if (schedule.group_size() != invocations)
      return fail_at(cat("schedule of \"", schedule.stage().name, "\""),
                     cat("has ", schedule.group_size(), " invocations, not the ", invocations,
                         " of \"", last.name, "\""));
    const ir::Buffer& made = group.members[i].stage.output;
    const ir::Buffer& own = schedule.stage().output;
    const bool holds = own->scope == ir::Scope::group;
    const Nest& nest = schedule.nest();
    Coordinates coordinates(nest);
    const Stmt part = inside_launch(nest, invocation,
                                    in_invocation(schedule.stage(), nest, coordinates,
                                                  {own, coordinates.of(nest.axes), {}, {}}));
    parts.push_back(holds ? part : moved_stores(part, own, made, outer));
    if (i > 0) steps.push_back(ir::barrier());
    steps.push_back(parts.back());
    if (holds) held.push_back(own);
    if (!holds || !group.members[i].written) continue;
    // Read where it is held, written from there.
    steps.push_back(ir::barrier());
    steps.push_back(each_place(own, invocation, invocations, [&](const auto& place) {
      std::vector<Expr> point = outer;
      point.insert(point.end(), place.begin(), place.end());
      return ir::store(made, point, ir::load(own, place));
    }));
  }
  int64_t bytes = 0;
  Stmt body = share_group_memory(ir::block(std::move(steps)), parts, bytes);
  body = hold_in_group(held, body, bytes);
  GS_TRY(check_group_bytes(bytes, schedules[0].capabilities()));
  const std::vector<Expr> extents(last.extents.begin(),
                                  last.extents.begin() + static_cast<std::ptrdiff_t>(group.outer));
  const std::vector<Expr> place = unravel(item, extents);
  Expr count = ir::index(1);
  for (size_t i = 0; i < group.outer; ++i) {
    count = count * extents[i];
    body = ir::let(last.axes[i], place[i], body);
  }
  body = ir::loop(invocation, ir::index(invocations), ir::LoopKind::group, body);
  body = ir::loop(item, ir::simplify(count), ir::LoopKind::grid, body);
  return kernel_of(title_of(group), body, inputs_of(group), outputs_of(group));
}

}  // namespace gossamer::schedule
