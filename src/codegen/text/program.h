// A kernel as a shader sees it: one invocation's program.
#pragma once

#include <vector>

#include "codegen/text/place_buffers.h"
#include "ir/nodes.h"

namespace gossamer::codegen::text {

struct Program {
  Placed placed;        // kernel.body is unused: `body` is what is left of it
  ir::Var grid, group;  // group: null without a loop over invocations
  ir::Expr range;
  int group_size = 1;
  std::vector<ir::Buffer> group_buffers;
  ir::Stmt body;
};

// Runs the passes that every shading language needs (types, places, arithmetic), takes the grid and
// group loops away, and shares expressions in what is left. `exact`: lower_arithmetic.h; `f16`: the
// device stores it (TypeRules::stores_halves); `clamp`: place_buffers.h; `dots`: the language has
// dot products of bytes (TypeRules::sums_bytes).
Result<Program> raise_program(const ir::Kernel&, bool exact = false, bool f16 = false,
                              bool clamp = false, bool dots = false);

}  // namespace gossamer::codegen::text
