// Several stages under one launch, and what they hand to each other.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "online/online.h"
#include "schedule/in_place.h"
#include "schedule/lower.h"
#include "schedule/lower_loops.h"
#include "schedule/lower_online.h"
#include "schedule/tile.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::Stmt;
using stages::At;
using stages::Group;
using stages::Member;
using stages::RowAxis;

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
  if (member.stage.kind == stages::StageKind::reduce) {
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

// A member with loops of its own, and those before it that are computed at each of its points.
struct Nested {
  const Member& member;
  const Schedule& schedule;
  std::vector<const Member*> at_points;

  const Nest& nest() const { return schedule.nest(); }
};

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

// A map in the steps of the sum after it, which walks the same row in vectors: memory is read once
// less. None: a step cannot compute its elements, or it reads and writes one memory, which is not
// computed twice. `body`: all of the map.
std::optional<ComputedAt> in_steps(const Nested& first, const Nested& second, const Stmt& body) {
  if (first.schedule.capabilities().group_size > 1) return std::nullopt;
  const Member &map = first.member, &sum = second.member;
  const ir::Buffer& made = map.stage.output;
  if (map.stage.kind != stages::StageKind::compute || sum.stage.kind != stages::StageKind::reduce ||
      sum.stage.in_order || !map.written || reads(map.stage, made))
    return std::nullopt;
  const Nest& sums = second.nest();
  const Blocks own = blocks_of(map, first.nest()), others = blocks_of(sum, sums);
  if (own.loop < 0 || own.lanes == 0 || others.lanes % own.lanes != 0 || others.lanes == 0)
    return std::nullopt;
  const bool exact = std::ranges::none_of(sums.splits, [&](const Split& split) {
    return sums.loop(split.whole).reduction && split.tail != Tail::exact;
  });
  if (!exact && sums.walks.size() != 2) return std::nullopt;
  const auto reads_made = [&](const ir::Load* load) { return load->buffer.same(made); };
  std::vector<const ir::Load*> loads = loads_of(sum.stage.values);
  std::erase_if(loads, std::not_fn(reads_made));
  const auto is_first = [&](const ir::Load* load) { return ir::equal(Expr(load), Expr(loads[0])); };
  if (loads.empty() || !std::ranges::all_of(loads, is_first) ||
      std::ranges::any_of(loads_of(sum.stage.result), reads_made))
    return std::nullopt;
  const Expr whole = ir::simplify(others.count * ir::index(others.lanes / own.lanes));
  const bool all = ir::prove_equal(whole, own.count);
  return ComputedAt{&map.stage, all ? Stmt() : behind(body, first.nest(), own.loop, whole)};
}

// The members of a launch, one after the other. Variables hold what is computed at each point,
// registers a value a row, group memory a tile; other members read columns back from memory.
class Members {
 public:
  Members(const Group& group, std::span<const Schedule> schedules)
      : group_(group), launch_(schedules.back().nest()), bound_(bound_of(launch_)) {
    std::vector<const Member*> at_points;
    auto schedule = schedules.begin();
    for (const Member& member : group.members) {
      if (member.at == At::point) {
        at_points.push_back(&member);
      } else {
        nested_.push_back({member, *schedule++, std::exchange(at_points, {})});
      }
    }
    for (size_t i = 0; i < group.outer; ++i) tile_.push_back(group.last().axes[i]);
  }

  Result<ir::Kernel> run() {
    for (size_t i = 0; i < nested_.size(); ++i) {
      GS_TRY(can_lower(nested_[i].schedule));
      GS_ASSIGN(const Stmt body, body_of(nested_[i]));
      if (i + 1 < nested_.size()) computed_ = in_steps(nested_[i], nested_[i + 1], body);
      if (!computed_) add(nested_[i], body);
    }
    Stmt body = ir::block(steps_);
    if (group_.members.back().at == At::tile) {
      GS_ASSIGN(body, in_workgroups(body));
    } else {
      for (const ir::Buffer& buffer : held_) body = ir::alloc(buffer, body);
      body = in_launch(launch_, body);
    }
    return kernel_of(title_of(group_), body, inputs_of(group_), outputs_of(group_));
  }

 private:
  // In the launch of the last member.
  Result<Stmt> body_of(const Nested& one) {
    const auto& [member, schedule, at_points] = one;
    const Nest& nest = one.nest();
    const std::vector<LoopId> bound = bound_of(nest);
    ir::VarMap same;
    for (size_t k = 0; k < std::max(bound.size(), bound_.size()); ++k) {
      const bool both = k < bound.size() && k < bound_.size();
      if (!both || nest.loop(bound[k]).kind != launch_.loop(bound_[k]).kind ||
          !ir::prove_equal(nest.loop(bound[k]).extent, launch_.loop(bound_[k]).extent))
        return fail_at(cat("schedule of \"", member.stage.name, "\""),
                       cat("its launch is not that of \"", group_.last().name, "\""));
      same[nest.loop(bound[k]).var.get()] = launch_.loop(bound_[k]).var;
    }
    const LoopId lane = lane_of_rows(member, nest);
    const std::vector<Expr> cell{ir::index(0), lane < 0 ? ir::index(0) : Expr(nest.loop(lane).var)};
    const Expr lanes = lane < 0 ? ir::index(1) : nest.loop(lane).extent;
    Loads known;
    for (const auto& [output, row] : rows_) known[output] = ir::load(row, cell);
    Destination destination = destination_of(one, {ir::index(1), lanes});
    destination.cell = cell;
    const stages::Stage stage = with_legal_loads(schedule.stage(), schedule);
    const Stmt body = at_points.empty() ? in_forms(stage, schedule, destination) : points_of(one);
    return ir::substitute(replace_loads(body, known), same);
  }

  // Where a member's result goes. `row`: the extents of what holds a row's.
  Destination destination_of(const Nested& one, std::vector<Expr> row) {
    const stages::Stage& stage = one.schedule.stage();  // over the tile, of members in one
    Destination destination;
    if (stage.output->scope == ir::Scope::group) {
      destination.memory = stage.output;
      held_.push_back(stage.output);
    } else if (one.member.written) {
      destination.memory = one.member.stage.output;
      destination.outer = tile_;
    }
    const bool read = std::ranges::any_of(
        group_.members, [&](const Member& member) { return reads(member.stage, stage.output); });
    if (one.member.at == At::launch && columns_of(one.member).empty() && read) {
      destination.held = ir::buffer(cat("row", rows_.size()), stage.output->dtype, std::move(row),
                                    ir::Scope::priv);
      rows_[stage.output.get()] = destination.held;
      held_.push_back(destination.held);
    }
    destination.computed = std::exchange(computed_, std::nullopt);
    return destination;
  }

  // Members at each point of one nest: variables, and what of them is written.
  Stmt points_of(const Nested& one) const {
    Coordinates coordinates(one.nest());
    const std::vector<Expr> point = coordinates.of(one.nest().axes);
    Loads known;
    std::vector<std::pair<ir::Var, Expr>> values;
    std::vector<Stmt> stores;
    const auto add = [&](const Member& member) {
      const stages::Stage stage = with_legal_loads(member.stage, one.schedule);
      ir::VarMap map;
      for (size_t i = 0; i < point.size(); ++i) map[stage.axes[i].get()] = point[i];
      const Expr value = replace_loads(ir::substitute(stage.result, map), known);
      values.emplace_back(ir::var(cat("value", values.size()), value->type), value);
      known[stage.output.get()] = values.back().first;
      if (member.written) stores.push_back(ir::store(stage.output, point, values.back().first));
    };
    for (const Member* member : one.at_points) add(*member);
    add(one.member);
    Stmt body = ir::block(std::move(stores));
    for (auto value = values.rbegin(); value != values.rend(); ++value)
      body = ir::let(value->first, value->second, body);
    return in_serial_loops(one.nest(), coordinates, body);
  }

  void add(const Nested& one, const Stmt& body) {
    if (one.member.at == At::tile && !steps_.empty()) steps_.push_back(ir::barrier());
    steps_.push_back(body);
    parts_.push_back(body);
    const ir::Buffer& own = one.schedule.stage().output;
    if (own->scope != ir::Scope::group || !one.member.written) return;
    // Read where it is held, written from there.
    steps_.push_back(ir::barrier());
    steps_.push_back(copied(own, one.member.stage.output));
  }

  const Loop& invocations() const {
    return launch_.loop(*std::ranges::find_if(
        bound_, [&](LoopId id) { return launch_.loop(id).kind == ir::LoopKind::group; }));
  }

  // Every place of a tile, a number of them at a time.
  Stmt copied(const ir::Buffer& tile, const ir::Buffer& memory) const {
    const int64_t places = elements_of(tile), count = *ir::as_int(invocations().extent);
    const ir::Var step = ir::var("step");
    const Expr place = Expr(step) * ir::index(count) + invocations().var;
    const std::vector<Expr> at = stages::unravel(place, tile->shape);
    std::vector<Expr> point = tile_;
    point.insert(point.end(), at.begin(), at.end());
    const Stmt store = ir::store(memory, point, ir::load(tile, at));
    return ir::loop(step, ir::index((places + count - 1) / count), ir::LoopKind::unrolled,
                    places % count == 0 ? store : ir::branch(place < ir::index(places), store));
  }

  // A workgroup for each tile.
  Result<Stmt> in_workgroups(Stmt body) const {
    int64_t bytes = 0;
    body = hold_in_group(held_, share_group_memory(body, parts_, bytes), bytes);
    GS_TRY(check_group_bytes(bytes, nested_.back().schedule.capabilities()));
    const stages::Stage& last = group_.last();
    const auto outer = static_cast<std::ptrdiff_t>(group_.outer);
    const std::vector<Expr> tiles(last.extents.begin(), last.extents.begin() + outer);
    const ir::Var item = ir::var("item");
    const std::vector<Expr> place = stages::unravel(item, tiles);
    Expr count = ir::index(1);
    for (size_t i = 0; i < group_.outer; ++i) {
      count = count * tiles[i];
      body = ir::let(last.axes[i], place[i], body);
    }
    const Loop& group = invocations();
    body = ir::loop(group.var, group.extent, ir::LoopKind::group,
                    inside_launch(launch_, group.var, body));
    return ir::loop(item, ir::simplify(count), ir::LoopKind::grid, body);
  }

  const Group& group_;
  const Nest& launch_;  // of the last member
  std::vector<LoopId> bound_;
  std::vector<Nested> nested_;
  std::vector<Expr> tile_;                            // the axes that number tiles
  std::map<const ir::BufferNode*, ir::Buffer> rows_;  // what holds a value a row, by output
  std::vector<ir::Buffer> held_;
  std::vector<Stmt> steps_, parts_;     // parts: without barriers and copies
  std::optional<ComputedAt> computed_;  // in the steps of the next member
};

// The members that have loops of their own.
size_t schedules_of(const Group& group) {
  size_t count = 0;
  for (const Group& one : group.concurrent) count += schedules_of(one);
  if (count > 0) return count;
  return group.members.size() -
         static_cast<size_t>(std::ranges::count(group.members, At::point, &Member::at));
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

Result<ir::Kernel> lower(const Group& group, std::span<const Schedule> schedules) {
  if (!group.concurrent.empty()) return lower_concurrent(group, schedules);
  if (is_walk(group)) return lower_online(group, schedules);
  if (group.last().kind == stages::StageKind::scatter) {
    const stages::Stage stage = with_legal_loads(group.last(), schedules[0]);
    return kernel_of(title_of(group), scatter_launch(stage, schedules[0].capabilities()),
                     inputs_of(group), outputs_of(group));
  }
  GS_ASSIGN(ir::Kernel kernel, Members(group, schedules).run());
  return update_in_place(std::move(kernel), group, schedules[0]);
}

Result<ir::Kernel> lower(const Schedule& schedule) {
  return lower(single_group(schedule.stage()), {&schedule, 1});
}

}  // namespace gossamer::schedule
