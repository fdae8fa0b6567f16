// Several stages under one launch, and what they hand to each other.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "schedule/access.h"
#include "schedule/in_place.h"
#include "schedule/lower.h"
#include "schedule/lower_loops.h"
#include "schedule/online.h"
#include "schedule/tile.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

using Loads = std::map<const ir::BufferNode*, Expr>;

// Loads of some buffers as what they are known to give.
template <class Node>
Node replace_loads(const Node& node, const Loads& known) {
  ir::Rewriter rewriter;
  rewriter.expr = [&](const Expr& e) -> Expr {
    const auto* load = ir::as<ir::Load>(e);
    const auto found = load ? known.find(load->buffer.get()) : known.end();
    return found == known.end() ? Expr{} : found->second;
  };
  return ir::rewrite(node, rewriter);
}

bool is_read(const Group& group, const ir::Buffer& buffer) {
  return std::ranges::any_of(group.members,
                             [&](const Member& member) { return reads(member.stage, buffer); });
}

// All members at each point of the last one's nest.
Result<ir::Kernel> lower_points(const Group& group, const Schedule& schedule) {
  GS_TRY(can_lower(schedule));
  const Nest& nest = schedule.nest();
  Coordinates coordinates(nest);
  const std::vector<Expr> point = coordinates.of(nest.axes);
  Loads known;
  std::vector<std::pair<ir::Var, Expr>> values;
  std::vector<Stmt> stores;
  for (const Member& member : group.members) {
    const ops::Stage stage = with_legal_loads(member.stage, schedule);
    ir::VarMap map;
    for (size_t i = 0; i < point.size(); ++i) map[stage.axes[i].get()] = point[i];
    const Expr value = replace_loads(ir::substitute(stage.result, map), known);
    values.emplace_back(ir::var(cat("value", values.size()), value->type), value);
    known[stage.output.get()] = values.back().first;
    if (member.written) stores.push_back(ir::store(stage.output, point, values.back().first));
  }
  Stmt body = ir::block(std::move(stores));
  for (auto value = values.rbegin(); value != values.rend(); ++value)
    body = ir::let(value->first, value->second, body);
  body = in_launch(nest, in_serial_loops(nest, coordinates, body));
  return kernel_of(title_of(group), body, inputs_of(group), outputs_of(group));
}

// The loop of lanes that lie along a row axis; -1: none does.
LoopId lane_of_rows(const Member& member, const Nest& nest) {
  for (const RowAxis& row : member.rows) {
    if (row.quotient != 1) continue;
    for (LoopId leaf : nest.leaves(nest.axes[static_cast<size_t>(row.axis)])) {
      if (nest.loop(leaf).kind == ir::LoopKind::vectorized) return leaf;
    }
  }
  return -1;
}

std::vector<LoopId> bound_of(const Nest& nest) {
  std::vector<LoopId> loops = nest.walks[0].order;
  std::erase_if(loops, [&](LoopId id) { return !is_bound(nest.loop(id).kind); });
  return loops;
}

// How a member walks its only column: `count` blocks of so many lanes; 0: it does not.
struct Blocks {
  int64_t lanes = 0;
  Expr count;
  LoopId loop = -1;  // over the blocks; -1: they are several
};
Blocks blocks_of(const Member& member, const Nest& nest) {
  LoopId axis = -1;
  if (member.stage.kind == ops::StageKind::reduce) {
    if (nest.walks[0].reduced.size() == 1) axis = nest.walks[0].reduced[0];
  } else if (const std::vector<int> columns = columns_of(member); columns.size() == 1) {
    axis = nest.axes[static_cast<size_t>(columns[0])];
  }
  if (axis < 0) return {};
  std::vector<LoopId> leaves = nest.leaves(axis);
  if (leaves.size() < 2 || nest.loop(leaves.back()).kind != ir::LoopKind::vectorized) return {};
  Blocks blocks{ir::as_int(nest.loop(leaves.back()).extent).value_or(0), ir::index(1)};
  leaves.pop_back();
  for (const LoopId id : leaves) {
    if (is_bound(nest.loop(id).kind)) return {};
    blocks.count = blocks.count * nest.loop(id).extent;
  }
  if (leaves.size() == 1) blocks.loop = leaves[0];
  return blocks;
}

// Whether a sum's steps may compute the elements of the map before it: both walk the same row, in
// vectors, and memory is read once less. What reads and writes one memory is not computed twice.
bool computes_at_next(const Group& group, std::span<const Schedule> schedules, size_t i) {
  if (i + 1 >= group.members.size() || schedules[i].capabilities().group_size > 1) return false;
  const Member &map = group.members[i], &sum = group.members[i + 1];
  if (map.stage.kind != ops::StageKind::compute || sum.stage.kind != ops::StageKind::reduce ||
      sum.stage.in_order || !map.written || reads(map.stage, map.stage.output))
    return false;
  const Nest &maps = schedules[i].nest(), &sums = schedules[i + 1].nest();
  const Blocks own = blocks_of(map, maps), others = blocks_of(sum, sums);
  if (own.loop < 0 || own.lanes == 0 || others.lanes % own.lanes != 0 || others.lanes == 0)
    return false;
  const bool whole = std::ranges::none_of(sums.splits, [&](const Split& split) {
    return sums.loop(split.whole).reduction && split.tail != Tail::exact;
  });
  if (!whole && sums.walks.size() != 2) return false;
  std::vector<const ir::Load*> loads;
  for (const ir::Load* load : loads_of(sum.stage.values))
    if (load->buffer.same(map.stage.output)) loads.push_back(load);
  const auto of_result = loads_of(sum.stage.result);
  return !loads.empty() && std::ranges::all_of(loads, [&](const ir::Load* load) {
    return ir::equal(Expr(load), Expr(loads[0]));
  }) && std::ranges::none_of(of_result, [&](const ir::Load* load) {
    return load->buffer.same(map.stage.output);
  });
}

// Of a member's loops, those over the columns behind `first` blocks.
Stmt behind(const Stmt& body, const Nest& nest, LoopId blocks, const Expr& first) {
  const ir::VarNode* var = nest.loop(blocks).var.get();
  ir::Rewriter rewriter;
  rewriter.stmt = [&](const Stmt& s) -> Stmt {
    const auto* loop = ir::as<ir::For>(s);
    if (!loop || loop->var.get() != var) return {};
    return ir::loop(loop->var, ir::simplify(loop->extent - first), loop->loop,
                    ir::substitute(loop->body, {{var, Expr(loop->var) + first}}));
  };
  return ir::rewrite(body, rewriter);
}

// One after the other for each row.
Result<ir::Kernel> lower_rows(const Group& group, std::span<const Schedule> schedules) {
  const Nest& last = schedules.back().nest();
  const std::vector<LoopId> launch = bound_of(last);
  std::vector<Stmt> steps;
  std::vector<ir::Buffer> kept;
  std::map<const ir::BufferNode*, ir::Buffer> held;
  std::optional<ComputedAt> computed;
  for (size_t i = 0; i < group.members.size(); ++i) {
    const Member& member = group.members[i];
    const Schedule& schedule = schedules[i];
    GS_TRY(can_lower(schedule));
    const Nest& nest = schedule.nest();
    const std::vector<LoopId> bound = bound_of(nest);
    ir::VarMap same;
    for (size_t k = 0; k < std::max(bound.size(), launch.size()); ++k) {
      const bool both = k < bound.size() && k < launch.size();
      if (!both || nest.loop(bound[k]).kind != last.loop(launch[k]).kind ||
          !ir::prove_equal(nest.loop(bound[k]).extent, last.loop(launch[k]).extent))
        return fail_at(cat("schedule of \"", member.stage.name, "\""),
                       cat("its launch is not that of \"", group.last().name, "\""));
      same[nest.loop(bound[k]).var.get()] = last.loop(launch[k]).var;
    }
    const LoopId lane = lane_of_rows(member, nest);
    const std::vector<Expr> cell{ir::index(0), lane < 0 ? ir::index(0) : Expr(nest.loop(lane).var)};
    Loads known;
    for (const auto& [output, place] : held) known[output] = ir::load(place, cell);

    const ops::Stage stage = with_legal_loads(member.stage, schedule);
    Coordinates coordinates(nest);
    Destination destination{
        member.written ? stage.output : ir::Buffer(), coordinates.of(nest.axes), {}, cell};
    if (columns_of(member).empty() && is_read(group, stage.output)) {
      const Expr lanes = lane < 0 ? ir::index(1) : nest.loop(lane).extent;
      destination.held = ir::buffer(cat("row", held.size()), stage.output->dtype,
                                    {ir::index(1), lanes}, ir::Scope::priv);
      held[stage.output.get()] = destination.held;
      kept.push_back(destination.held);
    }
    destination.computed = std::exchange(computed, std::nullopt);
    Stmt body = in_invocation(stage, nest, coordinates, destination);
    body = ir::substitute(replace_loads(body, known), same);
    if (computes_at_next(group, schedules, i)) {
      const Blocks own = blocks_of(member, nest);
      const Blocks others = blocks_of(group.members[i + 1], schedules[i + 1].nest());
      const Expr whole = ir::simplify(others.count * ir::index(others.lanes / own.lanes));
      computed = ComputedAt{&member.stage, {}};
      if (!ir::prove_equal(whole, own.count)) computed->rest = behind(body, nest, own.loop, whole);
      continue;
    }
    steps.push_back(std::move(body));
  }
  Stmt body = ir::block(std::move(steps));
  for (const ir::Buffer& buffer : kept) body = ir::alloc(buffer, body);
  return kernel_of(title_of(group), in_launch(last, body), inputs_of(group), outputs_of(group));
}

// Kernels under one launch: the workgroups of each follow those of the one before.
Result<ir::Kernel> lower_concurrent(const Group& group, std::span<const Schedule> schedules) {
  std::vector<ir::Kernel> kernels;
  for (const Group& one : group.concurrent) {
    const size_t count = schedules_of(one);
    GS_ASSIGN(ir::Kernel kernel, lower(one, schedules.first(count)));
    kernels.push_back(std::move(kernel));
    schedules = schedules.subspan(count);
  }
  const ir::Var item = ir::var("item"), invocation = ir::var("invocation");
  std::vector<Expr> ends{ir::index(0)};
  for (const ir::Kernel& kernel : kernels)
    ends.push_back(ends.back() + ir::as<ir::For>(kernel.body)->extent);
  Stmt body;
  Expr size;
  for (size_t k = kernels.size(); k-- > 0;) {
    const auto* grid = ir::as<ir::For>(kernels[k].body);
    const auto* invocations = ir::as<ir::For>(grid->body);
    if (size && !ir::prove_equal(size, invocations->extent))
      return fail("concurrent kernels have workgroups of different sizes");
    size = invocations->extent;
    // Its own workgroups are the first from 0 on; `max` says so where they are others'.
    const Expr own = k == 0 ? Expr(item) : ir::max(item - ends[k], ir::index(0));
    const Stmt part = ir::substitute(
        invocations->body, {{grid->var.get(), own}, {invocations->var.get(), invocation}});
    body = body ? ir::branch(item < ends[k + 1], part, body) : part;
  }
  body = ir::loop(item, ends.back(), ir::LoopKind::grid,
                  ir::loop(invocation, size, ir::LoopKind::group, body));
  return kernel_of(title_of(group), body, inputs_of(group), outputs_of(group));
}

}  // namespace

size_t schedules_of(const Group& group) {
  if (group.form == GroupForm::rows) return group.members.size();
  size_t count = group.form == GroupForm::concurrent ? 0 : 1;
  for (const Group& one : group.concurrent) count += schedules_of(one);
  return count;
}

Result<ir::Kernel> lower(const Group& group, std::span<const Schedule> schedules) {
  if (group.form == GroupForm::rows) return lower_rows(group, schedules);
  if (group.form == GroupForm::concurrent) return lower_concurrent(group, schedules);
  if (group.form == GroupForm::tile) return lower_tile(group, schedules);
  if (group.form == GroupForm::online) return lower_online(group, schedules);
  GS_ASSIGN(ir::Kernel kernel, group.form == GroupForm::single ? lower(schedules[0])
                                                               : lower_points(group, schedules[0]));
  return update_in_place(std::move(kernel), group, schedules[0]);
}

}  // namespace gossamer::schedule
