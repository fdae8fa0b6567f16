#include "schedule/texels.h"

#include <algorithm>

#include "ir/build.h"

namespace gossamer::schedule {
namespace {

// The places among a layout's axes that divide one dim, outermost first.
std::vector<size_t> places_of(const ir::Layout& layout, size_t dim) {
  std::vector<size_t> places;
  for (size_t k = 0; k < layout.axes.size(); ++k) {
    if (layout.axes[k].dim == static_cast<int>(dim)) places.push_back(k);
  }
  return places;
}

std::vector<int64_t> split_factors(const ir::Layout& layout, const std::vector<size_t>& places) {
  std::vector<int64_t> factors;
  for (size_t i = 1; i < places.size(); ++i)
    factors.push_back(layout.axes[places[i - 1]].divide / layout.axes[places[i]].divide);
  return factors;
}

// Loops in the order of the layout's axes.
Texels texels_of(const ir::Layout& layout, const std::vector<LoopId>& loops) {
  Texels texels;
  const size_t inner = layout.layers > 1 ? 2 : 1;
  texels.grid.assign(loops.begin(), loops.end() - static_cast<long>(inner));
  if (inner == 2) texels.layer = loops[loops.size() - 2];
  texels.lane = loops.back();
  return texels;
}

// What the layout divides: the dims, or all elements as one.
Result<std::vector<LoopId>> wholes(Schedule& schedule) {
  const std::vector<LoopId>& axes = schedule.nest().axes;
  if (!schedule.stage().output->layout.flat || axes.size() == 1) return axes;
  GS_ASSIGN(const LoopId flat, schedule.fuse(axes, "flat"));
  return std::vector<LoopId>{flat};
}

}  // namespace

Result<Texels> split_by_layout(Schedule& schedule) {
  const stages::Stage& stage = schedule.stage();
  const ir::Layout& layout = stage.output->layout;
  if (stage.axes.empty()) return Texels{};
  GS_ASSIGN(const std::vector<LoopId> dims, wholes(schedule));
  std::vector<LoopId> loops(layout.axes.size(), -1);
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<size_t> places = places_of(layout, d);
    if (places.size() == 1) {
      loops[places[0]] = dims[d];
      continue;
    }
    std::vector<std::string> names;
    for (size_t k : places) {
      const bool layer = layout.layers > 1 && k + 2 == loops.size();
      names.push_back(k + 1 == loops.size()       ? "lane"
                      : layer                     ? "layer"
                      : layout.flat               ? "texel"
                      : layout.axes[k].divide > 1 ? stage.axes[d]->name + ".tile"
                                                  : stage.axes[d]->name);
    }
    GS_ASSIGN(const std::vector<LoopId> parts,
              schedule.split(dims[d], split_factors(layout, places), Tail::round_up, names));
    for (size_t i = 0; i < places.size(); ++i) loops[places[i]] = parts[i];
  }
  return texels_of(layout, loops);
}

Result<> check_texels(const stages::Stage& stage, const Nest& nest) {
  const auto wrong = [](const std::string& why) {
    return fail(cat("a fragment computes the texels of its place, but ", why),
                "split the axes as the output's layout does and fuse all but layers and lanes");
  };
  const ir::Layout& layout = stage.output->layout;
  std::vector<LoopId> dims = nest.axes;
  if (layout.flat && dims.size() > 1) {
    const int fuse = nest.loop(dims[0]).fuse;
    if (fuse < 0 || nest.fuses[static_cast<size_t>(fuse)].parts != dims)
      return wrong("the layout counts all elements as one axis and the loops do not");
    dims = {nest.fuses[static_cast<size_t>(fuse)].whole};
  }
  std::vector<LoopId> loops(dims.empty() ? 0 : layout.axes.size(), -1);
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<size_t> places = places_of(layout, d);
    const std::vector<int64_t> factors = split_factors(layout, places);
    std::vector<LoopId> parts{dims[d]};
    if (!factors.empty()) {
      const int split = nest.loop(dims[d]).split;
      if (split < 0 || nest.splits[static_cast<size_t>(split)].factors != factors)
        return wrong(
            cat("loop ", nest.loop(dims[d]).name, " is not split as the layout divides it"));
      parts = nest.splits[static_cast<size_t>(split)].parts;
    }
    for (size_t i = 0; i < places.size(); ++i) loops[places[i]] = parts[i];
  }
  Texels texels;
  if (!loops.empty()) texels = texels_of(layout, loops);
  if (texels.lane && nest.loop(*texels.lane).kind != ir::LoopKind::vectorized)
    return wrong(cat("the values of a texel, ", nest.loop(*texels.lane).name, ", are not lanes"));
  if (texels.layer && (!nest.stands(*texels.layer) || is_bound(nest.loop(*texels.layer).kind)))
    return wrong(cat("the layers, ", nest.loop(*texels.layer).name, ", are not walked inside"));
  const LoopId grid = nest.walks[0].order[0];
  std::vector<LoopId> counted{grid};
  for (const Fuse& fuse : nest.fuses) {
    if (fuse.whole == grid) counted = fuse.parts;
  }
  const bool single = texels.grid.empty() && ir::is_const(nest.loop(grid).extent, 1);
  if (counted != texels.grid && !single)
    return wrong("the grid does not count them in their order");
  return {};
}

}  // namespace gossamer::schedule
