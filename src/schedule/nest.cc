#include "schedule/nest.h"

#include <algorithm>

namespace gossamer::schedule {

std::vector<std::string> part_names(const std::string& whole) {
  const size_t end = whole.find('\'');
  const std::string name = whole.substr(0, end);
  const std::string ticks = end == std::string::npos ? "" : whole.substr(end);
  return {name + ".outer" + ticks, name + ".inner" + ticks};
}

bool Nest::stands(LoopId id) const { return loop(id).split < 0 && loop(id).fuse < 0; }

bool Nest::is_fused(LoopId id) const {
  return std::ranges::any_of(fuses, [&](const Fuse& fuse) { return fuse.whole == id; });
}

std::vector<LoopId> Nest::leaves(LoopId id) const {
  const Loop& loop = this->loop(id);
  if (loop.fuse >= 0) return leaves(fuses[static_cast<size_t>(loop.fuse)].whole);
  if (loop.split < 0) return {id};
  std::vector<LoopId> result;
  for (LoopId part : splits[static_cast<size_t>(loop.split)].parts) {
    for (LoopId leaf : leaves(part)) {
      if (std::ranges::find(result, leaf) == result.end()) result.push_back(leaf);
    }
  }
  return result;
}

std::vector<LoopId> Nest::outside() const {
  const std::vector<LoopId>& order = walks[0].order;
  if (!accumulates || !accumulators) return order;
  return {order.begin(), std::ranges::find(order, *accumulators)};
}

std::vector<LoopId> Nest::inside(const Walk& walk) const {
  const std::vector<LoopId> before = outside();
  std::vector<LoopId> result;
  std::ranges::copy_if(walk.order, std::back_inserter(result),
                       [&](LoopId id) { return std::ranges::find(before, id) == before.end(); });
  return result;
}

std::vector<LoopId> Nest::tile() const {
  std::vector<LoopId> result = inside(walks[0]);
  std::erase_if(result, [&](LoopId id) {
    return (loop(id).reduction && !loop(id).partial) || loop(id).carried;
  });
  return result;
}

std::vector<LoopId> Nest::joined() const {
  std::vector<LoopId> result;
  for (size_t i = 0; i < loops.size(); ++i) {
    const auto id = static_cast<LoopId>(i);
    if (!loop(id).partial || is_fused(id)) continue;
    if (std::ranges::any_of(leaves(id),
                            [&](LoopId leaf) { return loop(leaf).kind == ir::LoopKind::group; }))
      result.push_back(id);
  }
  return result;
}

std::optional<size_t> Nest::clamped(ir::LoopKind kind) const {
  for (size_t at = 0; at < splits.size(); ++at) {
    const Split& split = splits[at];
    if (split.tail == Tail::clamp && loop(split.parts.back()).kind == kind &&
        (split.parts.size() == 2 || kind == ir::LoopKind::vectorized))
      return at;
  }
  return std::nullopt;
}

}  // namespace gossamer::schedule
