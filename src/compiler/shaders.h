// The shader of a kernel, in the language of its target.
#pragma once

#include <string>

#include "ir/nodes.h"
#include "target/capabilities.h"

namespace gossamer::compiler {

struct ShaderText {
  std::string code;
  int scalars = 0;
  int group_size = 1;
  bool range_scalar = false;  // the launch passes its range before the other scalars
};

// exact: its quotients are rounded as IEEE has it, at the price of some arithmetic.
Result<ShaderText> print_shader(const ir::Kernel& kernel, const target::Capabilities& capabilities,
                                bool exact = false);

}  // namespace gossamer::compiler
