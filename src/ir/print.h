// The IR as text that parse.h reads back: names are made unique where two variables share one.
#pragma once

#include <string>

#include "ir/nodes.h"

namespace gossamer::ir {

std::string print(const Expr&);
std::string print(const Stmt&);
std::string print(const Kernel&);

}  // namespace gossamer::ir
