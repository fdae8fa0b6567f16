// Default lists of a walk over keys on CPUs.
#include <algorithm>
#include <iterator>

#include "autoschedule/online_lists.h"
#include "online/online_parts.h"
#include "target/costs.h"

namespace gossamer::autoschedule {
namespace {

using online::OnlinePart;
using online::OnlineTile;
using schedule::List;
using stages::Group;
using stages::Stage;
using target::Capabilities;
using target::Costs;

// A register tile of a product that divides `rows` times `blocks` vectors.
struct Registers {
  int64_t rows = 1, vectors = 1;
};
Registers registers_for(int64_t rows, int64_t blocks, const Capabilities& caps) {
  const Costs& costs = costs_of(caps);
  Registers best;
  double least = 1e30;
  for (int64_t vectors = 1; vectors <= caps.tile_vectors; ++vectors) {
    for (int64_t down = 1; down <= caps.tile_rows; ++down) {
      if (blocks % vectors != 0 || rows % down != 0 ||
          down * vectors + vectors + 1 > caps.vector_registers)
        continue;
      const auto products = static_cast<double>(down * vectors);
      const double loads = costs.operand * static_cast<double>(down + vectors);
      const double cost = (products + loads + costs.tile) / products;
      if (cost < least) least = cost, best = {down, vectors};
    }
  }
  return best;
}

// A map whose lanes lie along one axis, with another one inside of its vectors.
List lanes_list(const Stage& stage, int axis, const Capabilities& caps, int inside = -1) {
  List list{"map", {}};
  const int64_t extent = online::points_along(stage, axis);
  const int64_t lanes = extent == 0 ? caps.vector_lanes : online::lanes_along(extent, caps);
  if (lanes > 1) {
    add(list, "split(i$0, $1, $2) -> i$0.vector, lane", axis, lanes, extent == 0 ? "guard" : "");
    inside >= 0 ? add(list, "reorder(i$0.vector, i$1, lane)", axis, inside)
                : add(list, "unroll(i$0.vector, 4)", axis);
    add(list, "vectorize(lane)");
  }
  add(list, "unit() -> item; bind(item, grid)");
  return list;
}

// A number a row, from all keys of the tile.
List key_list(const Capabilities& caps) {
  List list{"reduce", {}};
  add(list,
      "split(i0, $0) -> vec, lane; reorder(k0, vec, lane); accumulate(k0); unroll(vec, 4);"
      "vectorize(lane); unit() -> item; bind(item, grid)",
      caps.vector_lanes);
  return list;
}

List score_list(const OnlineTile& tile, const Capabilities& caps) {
  List list{"contraction", {}};
  add(list,
      "split(i2, $0, $1) -> i2.tile, vec, lane; reorder(k.., i1, vec, lane); accumulate(k..);"
      "unroll(k.., $2); unroll(i1, vec); vectorize(lane); unit() -> item; bind(item, grid)",
      std::min(tile.rows / caps.vector_lanes, int64_t{2}), caps.vector_lanes, caps.unroll);
  return list;
}

List sum_list(const Stage& sums, const OnlineTile& tile, const Capabilities& caps) {
  List list{"contraction", {}};
  const int64_t columns = online::points_along(sums, 1), lanes = online::lanes_along(columns, caps);
  const Registers registers = registers_for(tile.rows, columns / lanes, caps);
  add(list,
      "split(i0, $0) -> i0.tile, row; split(i1, $1, $2) -> i1.tile, vec, lane;"
      "split(k0, $3, guard) -> k0.block, k0; reorder(k.., k0, row, vec, lane); accumulate(k..);"
      "peel(k0.block); unroll(k.., $3); unroll(row, vec); vectorize(lane);"
      "unit() -> item; bind(item, grid)",
      registers.rows, registers.vectors, lanes, caps.unroll);
  return list;
}

std::vector<List> lists_of(const Group& group, const OnlineTile& tile, const Capabilities& caps) {
  const std::vector<Stage> stages = vector_stages(group, tile, caps);
  const auto stage = [&](OnlinePart part) -> const Stage& {
    return stages[static_cast<size_t>(part)];
  };
  const List rows = key_list(caps), map = lanes_list(stage(OnlinePart::tops), 0, caps);
  return {score_list(tile, caps),
          rows,
          map,
          map,
          lanes_list(stage(OnlinePart::weights), 2, caps),
          rows,
          sum_list(stage(OnlinePart::sums), tile, caps),
          lanes_list(stage(OnlinePart::queries), 1, caps, 0),
          lanes_list(stage(OnlinePart::keys), 1, caps),
          lanes_list(stage(OnlinePart::values), 1, caps)};
}

}  // namespace

std::vector<List> vector_lists(const Group& group, const Capabilities& caps) {
  std::vector<List> lists = lists_of(group, online::vector_tile(group, caps), caps);
  if (const OnlineTile narrow = online::narrow_tile(group, caps); narrow.keys > 0)
    std::ranges::move(lists_of(group, narrow, caps), std::back_inserter(lists));
  return lists;
}

}  // namespace gossamer::autoschedule
