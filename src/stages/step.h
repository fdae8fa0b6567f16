// A step of the host program: what runs between stages, see docs/specs/host.md.
#pragma once

#include <string>
#include <vector>

#include "ir/nodes.h"

namespace gossamer::stages {

// A branch or loop reaches to its `end`.
enum class StepKind : uint8_t {
  read,       // variables = the elements of `from`
  check,      // `condition` must hold, else `message` is the error
  set,        // variables = values, all read before any is set
  branch,     // until `otherwise` or `end` if `condition`
  otherwise,  // until `end` if not
  copy,       // `from` to `to`, on another device
  loop,       // variables[0] counts below `rounds` until `end`, while `condition`, where it has one
  end,
};

struct Step {
  // Defined in the .cc file: every source that copies a step would otherwise compile them again.
  Step();
  Step(const Step&);
  Step(Step&&) noexcept;
  Step& operator=(const Step&);
  Step& operator=(Step&&) noexcept;
  ~Step();

  StepKind kind = StepKind::end;
  std::vector<ir::Var> variables;  // of type index
  std::vector<ir::Expr> values;    // of set
  ir::Expr condition;              // of check and branch, of a loop a variable, or null
  ir::Expr elements;    // of check, where the condition is `elements <= most`: of what it names
  ir::Expr rounds;      // of loop
  std::string message;  // of check
  ir::Buffer from, to;  // of read and copy
};

// Variables that hold the elements of a tensor of known element count.
Step read_step(ir::Buffer tensor, std::vector<ir::Var> elements);
Step check_step(ir::Expr condition, std::string message, ir::Expr elements = {});
Step set_step(std::vector<ir::Var> variables, std::vector<ir::Expr> values);
Step branch_step(ir::Expr condition);
Step otherwise_step();
// `condition`: null, or a variable that must not be 0, tested before each round.
Step loop_step(ir::Var counter, ir::Expr rounds, ir::Expr condition = {});
Step end_step();
// Between devices: buffers of one type and shape.
Step copy_step(ir::Buffer from, ir::Buffer to);

std::string print(const Step&);

}  // namespace gossamer::stages
