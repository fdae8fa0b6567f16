// What two kernels share if and only if they are the same but for names.
#pragma once

#include <string>

#include "ir/nodes.h"

namespace gossamer::ir {

// Variables and buffers count by where they first occur. As long as the kernel has different
// nodes: a shared expression is written once, where its text could unfold without end.
std::string key_of(const Kernel& kernel);

}  // namespace gossamer::ir
