// A stage: one named step of an operator, as arithmetic over points. Operators are small DAGs of
// stages; fusion merges stages; a schedule turns one into a kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/nodes.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::ops {

using ir::Buffer;
using ir::Expr;
using ir::Var;

// How a reduction joins two partial results: tuples `left`, `right` -> `joined`, starting from
// `identity`. sum: one accumulator, left + right, 0. argmax: (value, index). Welford: (mean, m2,
// count).
struct Combiner {
  std::vector<Var> left, right;
  std::vector<Expr> joined;
  std::vector<Expr> identity;
  // A sum of one accumulator: what contraction schedules and fma need.
  bool is_sum() const;
};

enum class StageKind : uint8_t { compute, reduce, scan, sort, scatter };

// compute:  output[axes] = result
// reduce:   accumulators[k] = join over reduce_axes of values[k], from identity; output[axes] =
// result, where `result`
//           sees the accumulators as the variables combiner.left (after the last join), and the
//           axes. Fused epilogues are substituted into `result`, fused producers into `values`.
// sort:     the places along the only reduce axis, in order: output[axes] is where the element lies
// that has
//           axes[along] before it. `values` are its keys; combiner.joined[0] says whether `left`
//           comes before `right`, and equals keep their order. The output may be shorter.
// scan:     accumulators[k] = join of values[k] over the points up to this one along axes[along];
// output[axes] =
//           result, which sees them as a reduction's does. The combiner is associative. They start
//           from identity; with a `segment`, anew at each multiple of it, from `starts` at that
//           point.
// scatter:  for every point of `axes`: output[target] = combine(output[target], values[0]) if
// `condition`; the output
//           starts as a copy of `initial` (a buffer of the output's shape); without one the output
//           is a state, and keeps what it holds elsewhere. Points are taken in order.
struct Stage {
  // Defined in the .cc file: every source that copies a stage would otherwise compile them again.
  Stage();
  Stage(const Stage&);
  Stage(Stage&&) noexcept;
  Stage& operator=(const Stage&);
  Stage& operator=(Stage&&) noexcept;
  ~Stage();

  StageKind kind = StageKind::compute;
  std::string name;       // "conv", "softmax.max": unique within an operator
  std::string origin;     // the graph node it came from, for reports and errors
  std::string side = {};  // why the CPU beside a GPU runs it; empty: the target does
  Buffer output;          // shape: one extent an axis (for scatter, the shape of the target)
  std::vector<Var> axes;
  std::vector<Expr> extents;  // of the axes; equals output->shape unless scatter
  Expr result;

  // A reshape: the output has the same elements in row-major order as its only input.
  bool view = false;

  std::vector<Var> reduce_axes;
  std::vector<Expr> reduce_extents;
  Combiner combiner;
  std::vector<Expr> values;

  Buffer initial;
  std::vector<Expr> target;
  Expr condition;

  // Gradients end here: the output counts as a constant to them.
  bool stops_gradient = false;

  // Of a scatter from one axis to one: targets do not fall along it, and the condition holds at the
  // first point of each target of the output, alone (a running count of what is chosen). A place
  // can then search for its update.
  bool increasing = false;

  // Of a scatter whose rows (all axes but the last) count in `table`, memory of the stage's own,
  // [rows.., buckets], from starts[0] on (over reduce_axes[0], the buckets): where the condition
  // holds, a point takes the number in bucket values[1] of its row as `tally`, which values[0] and
  // target see, and leaves one more there. Rows aim at places of their own, all in the output.
  Buffer table;
  Var tally;

  // Of reductions and scans: values are the next accumulators and see those so far as
  // combiner.left (a search, a merge, a walk down a tree); joined is `right`.
  bool in_order = false;

  size_t along = 0;     // of scans and sorts: the place of the axis
  int64_t segment = 0;  // of a scan; 0: one for all of the axis
  // What accumulators start from where that is not identity, for each point, of a scan for each
  // segment.
  std::vector<Expr> starts;
};

// The distinct buffers a stage loads, in order of first appearance.
std::vector<Buffer> inputs_of(const Stage&);
// Reads other buffers instead of those that the map has; what the stage writes stays.
void replace_inputs(Stage&, const ir::BufferMap&);

// What holds of the axes at every point, and where terms (values) are computed: there the reduction
// has terms, so its extents are positive too.
ir::Bounds bounds_of(const Stage&);
ir::Bounds bounds_of_terms(const Stage&);

std::string print(const Stage&);

}  // namespace gossamer::ops
