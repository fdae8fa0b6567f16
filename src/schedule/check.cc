// What makes a schedule a kernel, beyond what each primitive asks of its loops.
#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/schedule.h"
#include "schedule/stage_in.h"
#include "schedule/texels.h"
#include "stages/access.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;
using ir::LoopKind;
using target::Capabilities;

Result<> check_launch(const Nest& nest) {
  const std::vector<LoopId>& order = nest.walks[0].order;
  const auto grid =
      std::ranges::find(order, LoopKind::grid, [&](LoopId id) { return nest.loop(id).kind; });
  if (grid == order.end()) return fail("no loop is bound to the grid");
  if (grid != order.begin())
    return fail(cat("the grid's loop ", nest.loop(*grid).name,
                    " is not the outermost one: ", nest.loop(order[0]).name, " is"));
  for (size_t i = 0; i < order.size(); ++i) {
    const Loop& loop = nest.loop(order[i]);
    if (loop.kind == LoopKind::group && i != 1)
      return fail(cat("the group's loop ", loop.name, " is not directly inside the grid's"));
  }
  return {};
}

// Lanes of a map that are skipped become a loop of their own where a vector does not fit; a
// reduction whose lanes would be repeated is cut into shorter vectors (lower.cc).
bool may_end_early(const stages::Stage& stage, const Split& split, LoopId lane) {
  const bool map = stage.kind == stages::StageKind::compute;
  return (split.tail == Tail::guard ? map : split.tail == Tail::clamp && !map) &&
         (split.parts.size() == 2 || !map) && split.parts.back() == lane &&
         stage.output->layout.memory != ir::Memory::texture;
}

Result<> check_vectors(const stages::Stage& stage, const Nest& nest) {
  for (const Walk& walk : nest.walks) {
    for (LoopId id : walk.order) {
      const Loop& loop = nest.loop(id);
      if (loop.kind == LoopKind::vectorized && id != walk.order.back())
        return fail(cat("the vectorized loop ", loop.name,
                        " is not the innermost one: ", nest.loop(walk.order.back()).name, " is"));
      const bool is_fused = nest.is_fused(id);
      if (loop.partial && loop.kind != LoopKind::group &&
          (is_fused || loop.kind != LoopKind::vectorized))
        return fail(cat("the partial results of ", loop.name, " are not lanes"),
                    is_fused ? "bind it to the group" : "vectorize it or bind it to the group");
    }
  }
  for (const Split& split : nest.splits) {
    const Loop& whole = nest.loop(split.whole);
    if (whole.reduction ||
        (split.tail != Tail::guard && split.tail != Tail::mask && split.tail != Tail::clamp))
      continue;
    for (LoopId leaf : nest.leaves(split.whole)) {
      if (nest.loop(leaf).kind == LoopKind::vectorized && !may_end_early(stage, split, leaf))
        return fail(
            cat("lanes of ", whole.name, " past its end can be neither skipped nor repeated"),
            "split it with the tail shift or round_up");
    }
  }
  return {};
}

Result<> check_accumulators(const Nest& nest) {
  if (!nest.accumulates) return fail("the stage has no accumulators");
  const std::vector<LoopId> outside = nest.outside();
  for (LoopId id : outside) {
    if ((nest.loop(id).reduction && !nest.loop(id).partial) || nest.loop(id).carried)
      return fail(cat(nest.loop(id).carried ? "the scan's loop " : "the reduction's loop ",
                      nest.loop(id).name, " is outside of the accumulators, which start ",
                      nest.accumulators ? cat("before ", nest.loop(*nest.accumulators).name)
                                        : std::string("inside of all loops")));
  }
  for (LoopId id : nest.tile()) {
    const Loop& loop = nest.loop(id);
    if (is_bound(loop.kind))
      return fail(cat("the bound loop ", loop.name, " is inside of the accumulators"));
    if (!ir::as_int(loop.extent))
      return fail(
          cat("a register tile has fixed extents, but that of ", loop.name, " is not known"));
  }
  return {};
}

// Whether all invocations come to the barriers around the tiles, and they fit; their bytes.
Result<int64_t> check_staged(const Schedule& schedule) {
  const Nest& nest = schedule.nest();
  if (nest.staged.empty()) return 0;
  const std::vector<LoopId> group = group_loops(nest);
  if (group.empty()) return fail("operands are staged, but no loop is bound to the group");
  const std::vector<LoopId> loops = nest.inside(nest.walks[0]);
  for (const StageIn& staged : nest.staged) {
    const std::string what =
        cat("operand ", staged.operand, " is staged in ", nest.loop(staged.loop).name, ", ");
    const auto at = std::ranges::find(loops, staged.loop);
    if (at == loops.end()) return fail(what + "which is outside of the accumulators");
    for (auto id = at + 1; id != loops.end(); ++id) {
      if (!ir::as_int(nest.loop(*id).extent))
        return fail(cat(what, "but the extent of ", nest.loop(*id).name, " inside is not known"));
    }
  }
  const int64_t bytes = tile_bytes(schedule);
  GS_TRY(check_group_bytes(bytes, schedule.capabilities()));
  return bytes;
}

// Partial results that invocations hold are joined in group memory, beside the tiles.
Result<> check_joined(const Schedule& schedule, int64_t tiles) {
  const Nest& nest = schedule.nest();
  const std::vector<LoopId> joined = nest.joined();
  if (joined.empty()) return {};
  const std::string what =
      cat("invocations hold the partial results of ", nest.loop(joined[0]).name, ", ");
  if (joined.size() > 1)
    return fail(cat(what, "and those of ", nest.loop(joined[1]).name), "fuse the two first");
  const std::vector<LoopId> tile = nest.tile();
  int64_t cells = 1;
  for (LoopId id : tile) {
    if (!nest.loop(id).partial) cells *= ir::as_int(nest.loop(id).extent).value_or(1);
  }
  int64_t bytes = tiles;
  const int64_t sharing =
      nest.staged.empty() ? schedule.group_size() : handed_over(joined_of(nest));
  for (const ir::Var& var : stages::lefts_of(schedule.stage().accumulators)) {
    const ir::DType dtype = var->type.dtype;
    if (ir::byte_size(dtype) != 4)
      return fail(cat(what, "but group memory holds numbers of 32 bits, not ", ir::name_of(dtype)));
    bytes += 4 * cells * sharing;
  }
  const Capabilities& caps = schedule.capabilities();
  if (!caps.harmless_loads || bytes > caps.max_group_bytes)
    return fail(cat(what, bytes, " bytes; a workgroup of ", name_of(caps.kind), " shares ",
                    caps.max_group_bytes));
  return {};
}

}  // namespace

Result<> check(const Schedule& schedule) {
  const stages::Stage& stage = schedule.stage();
  const Nest& nest = schedule.nest();
  if (stage.kind == stages::StageKind::scatter) return {};
  GS_TRY(check_launch(nest));
  GS_TRY(check_vectors(stage, nest));
  if (stage.kind != stages::StageKind::compute) GS_TRY(check_accumulators(nest));
  if (stage.kind == stages::StageKind::scan && stage.segment > 0 &&
      nest.loop(nest.axes[stage.along]).split < 0)
    return fail("the scan's axis is not split by its segment");
  GS_ASSIGN(const int64_t tiles, check_staged(schedule));
  GS_TRY(check_joined(schedule, tiles));
  GS_TRY(check_cached(schedule));
  if (stage.output->layout.memory == ir::Memory::texture) GS_TRY(check_texels(stage, nest));
  return {};
}

}  // namespace gossamer::schedule
