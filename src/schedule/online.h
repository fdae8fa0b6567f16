// Attention as one walk: sums weighted by a softmax, whose scores no memory holds.
//
//   out[.., q, d] = result(sum of weight(s[.., q, j], m) * value[.., j, d] over j, sum of weights)
//
// s is a sum of products, m its maximum over j, weight(s, m) = exp(s - m). The walk goes over tiles
// of keys (j). What it has summed is scaled by weight(old maximum, new maximum) where a tile raises
// the maximum ("online softmax").
#pragma once

#include <functional>
#include <optional>

#include "schedule/capabilities.h"
#include "schedule/group.h"
#include "schedule/list.h"
#include "schedule/schedule.h"

namespace gossamer::schedule {

struct Online {
  int row = 0, column = 0;  // the axes q and d of the last stage
  // s, over axes of the last stage and its reduction's axis: a sum of left * right.
  ir::Var along;  // the only axis of that sum
  ir::Expr extent, left, right;
  ir::Var products;  // the sum, which `score` sees
  ir::Expr score;
  ir::Expr bound;  // keys from here on score -inf in row q and those before it; null: unknown
  ir::Var of_score, of_peak, peak;  // weight sees the first two, shift the maximum
  ir::Expr weight, shift;
  ir::Var sum, total;  // result sees the weighted sum and the sum of the weights
  ir::Expr value, result;
};

// The stage that makes a buffer; null: none that this launch may compute.
using StageOf = std::function<const ops::Stage*(const ir::Buffer&)>;
// What a stage sums, if it is such a sum, by the stages before it; these are added to `used`.
std::optional<Online> online_of(const ops::Stage& last, const StageOf& stage_of,
                                std::vector<const ops::Stage*>& used);
Online online_of(const Group& group);

// Queries and keys of a workgroup's tile, its invocations. Keys 0: the target or the shape has no
// use for such a walk.
struct OnlineTile {
  int64_t rows = 0, keys = 0, invocations = 1;
};
OnlineTile online_tile(const Group& group, const Capabilities& capabilities);

// Weights overwrite the scores. Scales overwrite the tops (the maxima so far), which are written
// again at the end of a tile.
enum class OnlinePart : uint8_t { scores, peaks, scales, tops, weights, totals, sums };
constexpr size_t online_parts = 7;

// Stages over one tile, which starts where the last stage's axis q and its reduction's axis say:
// the parts of OnlinePart, in that order.
std::vector<ops::Stage> online_stages(const Group& group, const Capabilities& capabilities);
std::vector<List> online_lists(const Group& group, const Capabilities& capabilities);

Result<ir::Kernel> lower_online(const Group& group, std::span<const Schedule> schedules);

}  // namespace gossamer::schedule
