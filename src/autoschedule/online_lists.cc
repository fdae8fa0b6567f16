#include "autoschedule/online_lists.h"

#include <algorithm>
#include <numeric>

#include "autoschedule/tiling_parts.h"
#include "online/online_parts.h"

namespace gossamer::autoschedule {
namespace {

using online::gpu_lanes;
using online::OnlineTile;
using schedule::Call;
using schedule::List;
using stages::Group;
using stages::Stage;
using target::Capabilities;
using target::GroupTile;

constexpr int64_t step = 16;

// One invocation a part of each row.
List row_list(const OnlineTile& tile) {
  List list{"reduce", {}};
  add(list,
      "tile(k0, $0, $1) -> k0.step, part, lane; rfactor(part); rfactor(lane);"
      "reorder(i0, part, k0.step, lane); accumulate(k0.step); unroll(k0.step, 8); vectorize(lane);"
      "fuse(i0, part) -> invocation; fuse(..) -> item; bind(invocation, group); bind(item, grid)",
      tile.invocations / tile.rows, gpu_lanes);
  return list;
}

List map_list(const OnlineTile& tile) {
  List list{"map", {}};
  add(list,
      "split(i1, $0) -> i1.vector, lane; fuse(i0, i1.vector) -> vector;"
      "split(vector, $1) -> step, invocation; reorder(invocation, step, lane); unroll(step);"
      "vectorize(lane); fuse(..) -> item; bind(invocation, group); bind(item, grid)",
      gpu_lanes, tile.invocations);
  return list;
}

// A tile of values is at most as large as a tile of queries: 16 KiB hold one of them and the
// scores.
List product_list(const Stage& product, const OnlineTile& tile) {
  const int64_t columns = online::points_along(product, 1), vectors = columns / gpu_lanes;
  int64_t block = step;
  while (block * columns > step * 64) block /= 2;
  GroupTile shared{};
  shared.block = shared.unroll = static_cast<int>(block);
  shared.ahead = true;
  shared.parts = 1;
  shared.group_vectors = static_cast<int>(std::gcd(vectors, int64_t{8}));
  shared.vectors = static_cast<int>(vectors) / shared.group_vectors;
  shared.group_rows = static_cast<int>(tile.invocations) / shared.group_vectors;
  shared.rows = static_cast<int>(tile.rows) / shared.group_rows;
  return group_tile_list(product, {.vector = {1, gpu_lanes}, .row = 0}, shared);
}

}  // namespace

std::vector<List> online_lists(const Group& group, const Capabilities& caps) {
  if (caps.group_size == 1) return vector_lists(group, caps);
  const OnlineTile tile = online::online_tile(group, caps);
  const std::vector<Stage> stages = online::online_stages(group, caps);
  List weighted = product_list(stages.back(), tile);
  // The weights are in group memory.
  std::erase_if(weighted.calls, [](const Call& call) {
    return call.word == "stage_in" && call.arguments[1] == "0";
  });
  List values{"map", {}};
  add(values, "split(i0, $0, guard) -> item, invocation; bind(invocation, group); bind(item, grid)",
      tile.invocations);
  return {product_list(stages.front(), tile),
          row_list(tile),
          values,
          values,
          map_list(tile),
          row_list(tile),
          weighted};
}

}  // namespace gossamer::autoschedule
