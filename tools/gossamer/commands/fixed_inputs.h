// What the command line fixes of a model's inputs: shapes, dimensions, values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "onnx/known.h"

namespace gossamer::command {

class Command;

struct FixedInputs {
  // NAME=1,3,?,?  NAME=8  NAME=FILE  NAME=3 or NAME=none
  std::vector<std::string> shapes, dims, constants, sequences;
  std::vector<std::string> kept;  // names
};

void add_fixed_inputs(const Command& command, FixedInputs& fixed);

// Errors: text of another form, a file that is no tensor. Names that the model lacks are the
// reader's errors.
Result<> apply(const FixedInputs& fixed, onnx::Known& known);

}  // namespace gossamer::command
