// Primitives about a reduction's accumulators and walks.
#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/simplify.h"
#include "schedule/schedule.h"

namespace gossamer::schedule {

Result<> Schedule::accumulate(std::optional<LoopId> loop) {
  if (stage_.kind != stages::StageKind::reduce && stage_.kind != stages::StageKind::scan)
    return fail("cannot accumulate: the stage is no reduction and no scan");
  if (nest_.accumulates) return fail("cannot accumulate: there are accumulators already");
  std::vector<LoopId> at;
  if (loop) {
    GS_TRY(standing(*loop));
    if (std::ranges::find(order(), *loop) == order().end())
      return fail(cat("cannot accumulate before ", nest_.loop(*loop).name,
                      ": it belongs to a left-over walk"));
    at.push_back(*loop);
  }
  nest_.accumulates = true;
  nest_.accumulators = loop;
  steps_.push_back({Primitive::accumulate, std::move(at)});
  return {};
}

Result<> Schedule::rfactor(LoopId loop) {
  GS_TRY(serial(loop));
  Loop& one = nest_.loop(loop);
  const std::string what = cat("cannot rfactor ", one.name, ": ");
  if (!one.reduction) return fail(what + "it is no loop of a reduction");
  if (stage_.in_order) return fail(what + "its terms see the accumulators, in order");
  if (one.partial) return fail(what + "it holds partial results already");
  if (!ir::as_int(one.extent)) return fail(what + "its extent is not known");
  if (nest_.walks.size() > 1) return fail(what + "walks share accumulators", "rfactor before peel");
  one.partial = true;
  steps_.push_back({Primitive::rfactor, {loop}});
  return {};
}

Result<std::vector<LoopId>> Schedule::peel(LoopId loop) {
  GS_TRY(serial(loop));
  const std::string what = cat("cannot peel ", nest_.loop(loop).name, ": ");
  if (!nest_.loop(loop).reduction)
    return fail(what + "points past the end are the business of their split's tail");
  if (nest_.loop(loop).partial) return fail(what + "it holds partial results");
  if (nest_.walks.size() > 1) return fail(what + "a walk was peeled off already");
  const auto found = std::ranges::find_if(nest_.splits, [&](const Split& split) {
    return split.parts.size() == 2 && split.parts[0] == loop;
  });
  if (found == nest_.splits.end() || found->tail != Tail::guard)
    return fail(what + "it does not count the tiles of a guarded split");
  const ir::Expr extent = nest_.loop(found->whole).extent;
  const int64_t block = found->factors[0];
  if (const auto known = ir::as_int(extent); known && *known < block)
    return fail(cat(what, "there is no whole tile of ", block));
  const LoopId inner = found->parts[1];
  if (!nest_.stands(inner) || nest_.loop(inner).kind == ir::LoopKind::unrolled)
    return fail(cat(what, "what is left over of ", nest_.loop(inner).name, " is shorter"),
                "peel before that is split or unrolled");
  const LoopId split = found->whole;
  found->tail = Tail::exact;
  nest_.loop(loop).extent = ir::simplify(ir::floordiv(extent, block));

  const ir::Expr left_over = ir::simplify(ir::floormod(extent, ir::index(block)));
  Walk walk = nest_.walks[0];
  std::erase(walk.order, loop);
  const std::vector<LoopId> copies = copy_reduction(walk);
  std::vector<LoopId> made;
  for (LoopId& id : walk.order) {
    const LoopId copy = copies[static_cast<size_t>(id)];
    if (copy != id) made.push_back(copy);
    id = copy;
  }
  for (LoopId& id : walk.reduced) id = copies[static_cast<size_t>(id)];
  const LoopId rest = copies[static_cast<size_t>(inner)];
  const LoopId whole = copies[static_cast<size_t>(split)];
  nest_.splits[static_cast<size_t>(nest_.loop(whole).split)] = {
      whole, {rest}, {}, Tail::exact, ir::simplify(extent - left_over)};
  if (nest_.loop(rest).partial) {
    walk.mask = {rest, left_over};
  } else {
    nest_.loop(rest).extent = left_over;
  }
  nest_.walks.push_back(std::move(walk));
  steps_.push_back({Primitive::peel, {loop}, {}, Tail::exact, {}, made});
  return made;
}

// Copies of the reduction's loops and of what they were made from, for another walk; the result
// says which loop stands for which. Loops that tell accumulators apart are shared.
std::vector<LoopId> Schedule::copy_reduction(const Walk& walk) {
  std::vector<LoopId> copies(nest_.loops.size());
  std::iota(copies.begin(), copies.end(), 0);
  const auto copy_of = [&](LoopId& id) { id = copies[static_cast<size_t>(id)]; };
  for (LoopId id : walk.order) {
    const Loop one = nest_.loop(id);
    if (!one.reduction || one.partial) continue;
    copies[static_cast<size_t>(id)] = add(one.name, one.extent, true);
    nest_.loops.back().kind = one.kind;
  }
  for (size_t id = 0; id < copies.size(); ++id) {
    Loop one = nest_.loops[id];
    if (!one.reduction || nest_.stands(static_cast<LoopId>(id))) continue;
    copies[id] = static_cast<LoopId>(nest_.loops.size());
    nest_.loops.push_back(std::move(one));
  }
  for (size_t k = 0, count = nest_.splits.size(); k < count; ++k) {
    Split split = nest_.splits[k];
    if (!nest_.loop(split.whole).reduction) continue;
    copy_of(split.whole);
    for (LoopId& part : split.parts) copy_of(part);
    nest_.loop(split.whole).split = static_cast<int>(nest_.splits.size());
    nest_.splits.push_back(std::move(split));
  }
  for (size_t k = 0, count = nest_.fuses.size(); k < count; ++k) {
    Fuse fuse = nest_.fuses[k];
    if (!nest_.loop(fuse.whole).reduction) continue;
    for (LoopId& part : fuse.parts) {
      copy_of(part);
      nest_.loop(part).fuse = static_cast<int>(nest_.fuses.size());
    }
    copy_of(fuse.whole);
    nest_.fuses.push_back(std::move(fuse));
  }
  return copies;
}

}  // namespace gossamer::schedule
