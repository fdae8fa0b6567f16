// Rounds of a body between steps of the host program: what Loop, Scan and SequenceMap have in
// common.
#pragma once

#include <functional>
#include <vector>

#include "lower/graph_lowering.h"

namespace gossamer::lower {

// Rounds are counted in 32 bits.
constexpr int64_t most_rounds = (int64_t{1} << 31) - 1;

struct Repeat {
  explicit Repeat(const graph::Node& of) : node(of) {}
  const graph::Node& node;
  Expr rounds, condition;
  Expr wanted;                 // rounds before they were cut to what is counted; may be null
  bool has_condition = false;  // the body's first output says whether to go on
  size_t first_state = 0;      // among the body's inputs
  std::vector<Item> initial;   // tensors and sequences
  // The body's inputs before and after its states.
  std::function<std::vector<Tensor>(const ir::Var& round)> inputs, rows;
  // Lowers a round of these inputs; null where the node's region is the round.
  std::function<Result<Region>(const std::vector<Item>& inputs)> body;
};

// The last states, then the stacked rows. `values`: of the graph that the node is in.
Result<std::vector<Item>> lower_repeat(const Repeat& what, const Values& values,
                                       GraphLowering& lowering);

}  // namespace gossamer::lower
