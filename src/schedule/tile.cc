#include "schedule/tile.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;
using stages::Group;
using stages::Member;

// What the workgroup holds of a stage's tile, by the stage's output.
using Held = std::map<const ir::BufferNode*, ir::Buffer>;

Held held_by(const Group& group) {
  Held held;
  for (const Member& member : group.members) {
    const stages::Stage& stage = member.stage;
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

}  // namespace

int64_t elements_of(const ir::Buffer& buffer) {
  int64_t elements = 1;
  for (const Expr& extent : buffer->shape) elements *= *ir::as_int(extent);
  return elements;
}

std::vector<stages::Stage> tile_stages(const Group& group) {
  const Held held = held_by(group);
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    const auto found = load ? held.find(load->buffer.get()) : held.end();
    if (found == held.end()) return {};
    return ir::load(found->second, inner_of(load->indices, group.outer));
  };
  std::vector<stages::Stage> stages;
  for (const Member& member : group.members) {
    stages::Stage& stage = stages.emplace_back(member.stage);
    stages::visit_exprs(stage, stages::may_load, [&](Expr& e) { e = ir::rewrite(e, rewriter); });
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

}  // namespace gossamer::schedule
