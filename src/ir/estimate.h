// What an extent that only a run tells is likely to be, for choices that are right for any.
#pragma once

#include "ir/nodes.h"

namespace gossamer::ir {

// With each variable at its VarNode::estimate, from 0 to 2^20; a constant is itself.
int64_t estimate(const Expr& extent);

}  // namespace gossamer::ir
