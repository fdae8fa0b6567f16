// Primitives that replace loops by others.
#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/simplify.h"
#include "schedule/schedule.h"
#include "stages/access.h"

namespace gossamer::schedule {

using ir::Expr;

namespace {

int64_t product(const std::vector<int64_t>& factors) {
  return std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies<>());
}

// To how many elements memory rounds up the extent of an output's dim; -1: of all elements
// together.
int64_t rounded_to(const ir::Layout& layout, int dim) {
  int64_t multiple = 1;
  for (const ir::LayoutAxis& axis : layout.axes) {
    if (layout.flat ? dim < 0 : axis.dim == dim) multiple = std::max(multiple, axis.divide);
  }
  return multiple;
}

}  // namespace

// Points past the end of a whole axis lie in padding where memory rounds it up as far.
Result<> Schedule::pads(LoopId loop, int64_t block) const {
  const ir::Layout& layout = stage_.output->layout;
  const auto axis = std::ranges::find(nest_.axes, loop);
  int64_t multiple = 1;
  if (axis != nest_.axes.end())
    multiple = rounded_to(layout, static_cast<int>(axis - nest_.axes.begin()));
  if (layout.flat) {
    const bool all = nest_.axes.size() == 1
                         ? axis != nest_.axes.end()
                         : std::ranges::any_of(nest_.fuses, [&](const Fuse& fuse) {
                             return fuse.whole == loop && fuse.parts == nest_.axes;
                           });
    multiple = all ? rounded_to(layout, -1) : 1;
  }
  const auto extent = ir::as_int(nest_.loop(loop).extent);
  const int64_t padded = extent ? (*extent + multiple - 1) / multiple * multiple : multiple;
  if (padded % block == 0) return {};
  const std::string& name = nest_.loop(loop).name;
  return fail(multiple == 1
                  ? cat("memory does not pad ", name)
                  : cat("memory pads ", name, " to a multiple of ", multiple, ", not of ", block));
}

Result<std::vector<LoopId>> Schedule::split(LoopId loop, std::vector<int64_t> factors, Tail tail,
                                            std::vector<std::string> names) {
  GS_TRY(serial(loop));
  const Loop whole = nest_.loop(loop);
  const std::string what = cat("cannot split ", whole.name, ": ");
  if (whole.partial) return fail(what + "it holds partial results", "split before rfactor");
  if (whole.carried &&
      (factors != std::vector{stage_.segment} || (tail != Tail::exact && tail != Tail::guard)))
    return fail(what + "its iterations follow each other",
                stage_.segment > 0 ? cat("split it by the scan's segment of ", stage_.segment)
                                   : std::string());
  if (factors.empty()) return fail(what + "there is no factor");
  if (std::ranges::any_of(factors, [](int64_t factor) { return factor < 1; }))
    return fail(what + "factors are at least 1");
  const int64_t block = product(factors);
  const auto extent = ir::as_int(whole.extent);
  if (whole.reduction && stage_.in_order)
    return fail(what + "its terms see the accumulators, in order");
  if (extent && *extent % block == 0) {
    tail = Tail::exact;
  } else if (tail == Tail::exact) {
    return fail(cat(what, block, extent ? " does not" : " need not", " divide its extent",
                    extent ? cat(" of ", *extent) : std::string()),
                "name a tail: guard, mask, shift, clamp or round_up");
  } else if (whole.reduction && tail != Tail::guard) {
    return fail(what + "iterations of a reduction count once", "name the tail guard");
  } else if (tail == Tail::shift && (!extent || *extent < block)) {
    return fail(cat(what, "a tile of ", block, " cannot start early in an extent ",
                    extent ? cat("of ", *extent) : "that is not known"),
                "name the tail clamp");
  } else if (tail == Tail::mask && stage_.kind != stages::StageKind::compute) {
    return fail(what + "points of a map alone are computed and not stored", "name the tail guard");
  } else if (tail == Tail::round_up) {
    if (auto padded = pads(loop, block); !padded) return fail(what + padded.error().message);
  }
  if (names.empty() && factors.size() == 1) names = part_names(whole.name);
  if (names.size() != factors.size() + 1)
    return fail(cat(what, "it becomes ", factors.size() + 1, " loops, named by ", names.size()));

  nest_.loop(loop).split = static_cast<int>(nest_.splits.size());
  Split split{loop, {}, std::move(factors), tail, {}};
  for (size_t k = 0; k < names.size(); ++k) {
    const Expr tiles =
        k == 0 ? stages::ceil_div(whole.extent, block) : ir::index(split.factors[k - 1]);
    split.parts.push_back(add(std::move(names[k]), tiles, whole.reduction));
  }
  nest_.loop(split.parts.back()).carried = whole.carried;  // each segment starts anew
  replace({loop}, split.parts);
  steps_.push_back({Primitive::split, {loop}, split.factors, tail, {}, split.parts});
  nest_.splits.push_back(std::move(split));
  return nest_.splits.back().parts;
}

Result<LoopId> Schedule::fuse(std::vector<LoopId> loops, std::string name) {
  if (loops.empty()) return fail("cannot fuse: no loop is given");
  Expr extent = ir::index(1);
  bool partial = false;
  // Points, or partial results: iterations that do not share accumulators.
  const auto keeps_apart = [](const Loop& loop) { return !loop.reduction || loop.partial; };
  for (size_t i = 0; i < loops.size(); ++i) {
    GS_TRY(serial(loops[i]));
    const Loop& loop = nest_.loop(loops[i]);
    partial |= loop.partial;
    if (keeps_apart(loop) != keeps_apart(nest_.loop(loops[0])))
      return fail(cat("cannot fuse ", nest_.loop(loops[0]).name, " with ", loop.name,
                      ": one of them is of the reduction"));
    if (loop.carried)
      return fail(cat("cannot fuse ", loop.name, ": its iterations follow each other"));
    extent = extent * loop.extent;
  }
  for (const Walk& walk : nest_.walks) {
    const auto first = std::ranges::find(walk.order, loops[0]);
    if (first == walk.order.end()) continue;
    if (static_cast<size_t>(walk.order.end() - first) < loops.size() ||
        !std::equal(loops.begin(), loops.end(), first))
      return fail(cat("cannot fuse ", nest_.loop(loops[0]).name,
                      " with what follows: the loops are not directly inside each other"),
                  "reorder them first");
  }
  for (LoopId loop : loops) nest_.loop(loop).fuse = static_cast<int>(nest_.fuses.size());
  const LoopId fused =
      add(std::move(name), ir::simplify(extent), partial || nest_.loop(loops[0]).reduction);
  nest_.loop(fused).partial = partial;
  replace(loops, {fused});
  nest_.fuses.push_back({loops, fused});
  steps_.push_back({Primitive::fuse, std::move(loops), {}, Tail::exact, {}, {fused}});
  return fused;
}

Result<LoopId> Schedule::unit(std::string name) {
  const LoopId loop = add(std::move(name), ir::index(1), false);
  for (Walk& walk : nest_.walks) walk.order.insert(walk.order.begin(), loop);
  steps_.push_back({Primitive::unit, {}, {}, Tail::exact, {}, {loop}});
  return loop;
}

}  // namespace gossamer::schedule
