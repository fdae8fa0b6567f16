// The shader of a kernel, for either shading language.
#pragma once

#include <string>

#include "ir/nodes.h"
#include "schedule/capabilities.h"

namespace gossamer::compiler {

Result<std::string> print_shader(const ir::Kernel& kernel, schedule::TargetKind target);

}  // namespace gossamer::compiler
