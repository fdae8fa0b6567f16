#include "schedule/coordinates.h"

#include <algorithm>

#include "ir/build.h"

namespace gossamer::schedule {

using ir::Expr;

Coordinates::Coordinates(const Nest& nest) : nest_(nest), values_(nest.loops.size()) {
  // Later fuses first: they say what the loops are that earlier ones made.
  for (auto fuse = nest.fuses.rbegin(); fuse != nest.fuses.rend(); ++fuse) {
    const auto bound = [&](LoopId leaf) { return is_bound(nest.loop(leaf).kind); };
    if (!std::ranges::all_of(nest.leaves(fuse->whole), bound)) continue;
    const std::vector<Expr> values = parts(*fuse);
    for (size_t i = 0; i < values.size(); ++i) {
      const ir::Var& var = nest.loop(fuse->parts[i]).var;
      launch_.emplace_back(var, values[i]);
      values_[static_cast<size_t>(fuse->parts[i])] = var;
    }
  }
}

Expr Coordinates::of(LoopId id) {
  const Expr known = values_[static_cast<size_t>(id)];
  if (known) return known;
  const Loop& loop = nest_.loop(id);
  Expr value = loop.var;
  if (loop.split >= 0) {
    value = joined(nest_.splits[static_cast<size_t>(loop.split)]);
  } else if (loop.fuse >= 0) {
    const Fuse& fuse = nest_.fuses[static_cast<size_t>(loop.fuse)];
    const std::vector<Expr> values = parts(fuse);
    for (size_t i = 0; i < values.size(); ++i)
      values_[static_cast<size_t>(fuse.parts[i])] = values[i];
    return values_[static_cast<size_t>(id)];
  }
  return values_[static_cast<size_t>(id)] = value;
}

std::vector<Expr> Coordinates::of(const std::vector<LoopId>& loops) {
  std::vector<Expr> values;
  for (LoopId loop : loops) values.push_back(of(loop));
  return values;
}

Expr Coordinates::joined(const Split& split) {
  int64_t block = 1;
  for (int64_t factor : split.factors) block *= factor;
  const Expr extent = nest_.loop(split.whole).extent;
  Expr tile = of(split.parts[0]) * ir::index(block);
  if (split.start) tile = tile + split.start;
  if (split.tail == Tail::shift) tile = ir::min(tile, extent - ir::index(block));
  for (size_t k = 1; k < split.parts.size(); ++k) {
    block /= split.factors[k - 1];
    tile = tile + of(split.parts[k]) * ir::index(block);
  }
  return split.tail == Tail::clamp ? ir::min(tile, extent - ir::index(1)) : tile;
}

// Quotients and remainders. What runs past the end leaves the range of the first part only, so
// parts of one iteration before others can only be left out where nothing does.
std::vector<Expr> Coordinates::parts(const Fuse& fuse) {
  const int split = nest_.loop(fuse.whole).split;
  const bool overruns =
      split >= 0 && nest_.splits[static_cast<size_t>(split)].tail == Tail::round_up;
  const auto single = [&](LoopId id) {
    return !overruns && ir::is_const(nest_.loop(id).extent, 1);
  };
  std::vector<Expr> values(fuse.parts.size(), ir::index(0));
  Expr rest = of(fuse.whole);
  for (size_t i = fuse.parts.size(); i-- > 0;) {
    if (single(fuse.parts[i])) continue;
    const Expr& extent = nest_.loop(fuse.parts[i]).extent;
    if (std::all_of(fuse.parts.begin(), fuse.parts.begin() + static_cast<long>(i), single)) {
      values[i] = rest;
      break;
    }
    values[i] = ir::floormod(rest, extent);
    rest = ir::floordiv(rest, extent);
  }
  return values;
}

}  // namespace gossamer::schedule
