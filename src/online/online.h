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
#include <set>

#include "stages/group.h"
#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::online {

struct Online {
  int row = 0, column = 0;  // the axes q and d of the last stage; row -1: there is one row
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
using StageOf = std::function<const stages::Stage*(const ir::Buffer&)>;
// What a stage sums, if it is such a sum, by the stages before it; these are added to `used`, and
// to `masks` those that the scores compute again, which others may read, too. Null: none are.
std::optional<Online> online_of(const stages::Stage& last, const StageOf& stage_of,
                                std::vector<const stages::Stage*>& used,
                                std::vector<const stages::Stage*>* masks = nullptr);
Online online_of(const stages::Group& group);

// visit(group, what its stages make) for each such sum of a program of which nobody else reads what
// lies between. `kept`: buffers that others read.
using VisitOnline =
    std::function<void(const stages::Group& group, const std::set<const ir::BufferNode*>& made)>;
void visit_online(const stages::Program& program, const std::set<const ir::BufferNode*>& kept,
                  const VisitOnline& visit);

// What the products of walks in a program make: such products read their operands where these are,
// and no copy of them pays. `kept`: buffers that others read, too.
std::set<const ir::BufferNode*> online_products(const stages::Program& program,
                                                const std::set<const ir::BufferNode*>& kept,
                                                const target::Capabilities& capabilities);

// Queries and keys of a workgroup's tile, its invocations; on CPUs of a work item, and keys whose
// scores it computes together. Keys 0: the target or the shape has no use for such a walk.
struct OnlineTile {
  int64_t rows = 0, keys = 0, invocations = 1, part = 0;
  bool operator==(const OnlineTile&) const = default;
};
OnlineTile online_tile(const stages::Group& group, const target::Capabilities& capabilities);
// On CPUs, where a run tells the number of queries: the tile of few that are left. Keys 0: none.
OnlineTile narrow_tile(const stages::Group& group, const target::Capabilities& capabilities);

// On GPUs, weights overwrite the scores, and scales the tops (the maxima so far), which are written
// again at the end of a tile. CPUs have the operands of a tile in order, too.
enum class OnlinePart : uint8_t {
  scores,
  peaks,
  scales,
  tops,
  weights,
  totals,
  sums,
  queries,
  keys,
  values
};
constexpr size_t vector_parts = 10;  // on CPUs

// Stages over one tile, which starts where the last stage's axis q and its reduction's axis say:
// the parts of OnlinePart, in that order, on CPUs then those of the narrow tile.
std::vector<stages::Stage> online_stages(const stages::Group& group,
                                         const target::Capabilities& capabilities);
}  // namespace gossamer::online
