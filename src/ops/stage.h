// A stage: one named step of an operator, as arithmetic over points. Operators are small DAGs of
// stages; fusion merges stages; a schedule turns one into a kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/nodes.h"
#include "ir/rewrite.h"

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

enum class StageKind : uint8_t { compute, reduce, scatter };

// compute:  output[axes] = result
// reduce:   accumulators[k] = join over reduce_axes of values[k], from identity; output[axes] =
// result, where `result`
//           sees the accumulators as the variables combiner.left (after the last join), and the
//           axes. Fused epilogues are substituted into `result`, fused producers into `values`.
// scatter:  for every point of `axes`: output[target] = combine(output[target], values[0]) if
// `condition`; the output
//           starts as a copy of `initial` (a buffer of the output's shape); without one the output
//           is a state, and keeps what it holds elsewhere. Points are taken in order.
struct Stage {
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
};

// The distinct buffers a stage loads, in order of first appearance.
std::vector<Buffer> inputs_of(const Stage&);
// Reads other buffers instead of those that the map has; what the stage writes stays.
void replace_inputs(Stage&, const ir::BufferMap&);

std::string print(const Stage&);

}  // namespace gossamer::ops
