#include <algorithm>

#include "autoschedule/online_lists.h"
#include "ir/build.h"
#include "online/online_parts.h"

namespace gossamer::autoschedule {
namespace {

using schedule::List;
using schedule::Point;
using stages::Group;
using stages::Stage;

int64_t known_extent(const ir::Expr& extent) { return ir::as_int(extent).value_or(0); }

// Several invocations a row.
List row_list(int64_t rows, int64_t invocations) {
  List list{"reduce", {}};
  add(list,
      "split(k0, $0, guard) -> k0.step, part; rfactor(part); reorder(i0, part, k0.step);"
      "accumulate(k0.step); unroll(k0.step); fuse(i0, part) -> invocation; fuse(..) -> item;"
      "bind(invocation, group); bind(item, grid)",
      invocations / rows);
  return list;
}

}  // namespace

Point key_parts_lists(const Group& parts) {
  const Stage &scores = parts.members.front().stage, &sums = parts.last();
  const int64_t columns = known_extent(sums.extents.back()),
                rows = known_extent(sums.extents[parts.outer]);
  const auto [keys, invocations] =
      online::key_parts_shape(known_extent(scores.reduce_extents[0]), columns);
  List products{"contraction", {}}, weights{"map", {}}, weighted{"contraction", {}};
  add(products,
      "tile(k0, $0, $1) -> k0.step, part, lane; rfactor(part); rfactor(lane);"
      "reorder(i1, part, k0.step, i0, lane); accumulate(k0.step); unroll(k0.step, 8); unroll(i0);"
      "vectorize(lane); fuse(i1, part) -> invocation; fuse(..) -> item;"
      "bind(invocation, group); bind(item, grid)",
      invocations / keys, online::gpu_lanes);
  add(weights,
      "fuse(i0, i1) -> point; split(point, $0, guard) -> step, invocation;"
      "reorder(invocation, step); unroll(step); fuse(..) -> item;"
      "bind(invocation, group); bind(item, grid)",
      invocations);
  // Rows have invocations of their own: partial results of several would fill group memory.
  const int64_t vectors = columns / online::gpu_lanes;
  const int64_t own_rows = std::min(rows, invocations / vectors);
  add(weighted,
      "tile(i0, $0) -> i0.step, row; split(i1, $1) -> vector, lane; tile(k0, $2) -> k0.step, part;"
      "rfactor(part); reorder(row, part, vector, k0.step, i0.step, lane); accumulate(k0.step);"
      "unroll(k0.step, 8); unroll(i0.step); vectorize(lane);"
      "fuse(row, part, vector) -> invocation; fuse(..) -> item;"
      "bind(invocation, group); bind(item, grid)",
      own_rows, online::gpu_lanes, invocations / vectors / own_rows);
  const List row = row_list(rows, invocations);
  return {products, row, weights, row, weighted};
}

}  // namespace gossamer::autoschedule
