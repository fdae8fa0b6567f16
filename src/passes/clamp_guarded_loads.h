#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// A load in an arm of a select may be out of bounds when the arm is not taken (padding). Where
// memory could trap, its indices are clamped, unless provably inside. Runs on logical indices,
// before loops are unrolled.
ir::Stmt clamp_guarded_loads(const ir::Stmt& body);

}  // namespace gossamer::passes
