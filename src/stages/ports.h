// What a model's signature says besides its tensors.
#pragma once

#include <string>

#include "ir/nodes.h"

namespace gossamer::stages {

// A sequence or optional in the model's signature: the tensors [first, first + count) of its inputs
// or outputs, of strings too. An optional that holds something is that, so one listed here holds
// nothing.
struct PortGroup {
  std::string name;
  bool sequence = true, output = false;
  int first = 0, count = 0;
};

// A symbolic dimension, and where a run reads its value: axis `axis` of graph input `input`.
struct Dim {
  ir::Var var;
  int input = 0, axis = 0;
  // Of a state (append_rows.h), how many rows its memory has room for: not of the input's shape but
  // what a run time chooses, `rows`, those after a run, at least. The output is the same tensor.
  ir::Expr rows = {};
  int output = -1;
};

}  // namespace gossamer::stages
