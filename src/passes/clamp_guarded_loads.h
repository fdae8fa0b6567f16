#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// A load in an arm of a select may be out of bounds when the arm is not taken (padding), and one
// whose index was loaded itself when the data are wrong or lie in padding lanes. Where memory could
// trap, such indices are clamped, unless provably inside. Runs on logical indices, before loops are
// unrolled.
ir::Stmt clamp_guarded_loads(const ir::Stmt& body);

// For generators that load lanes only where the arm is taken: loads of plain arithmetic that the
// arm's condition keeps inside stay as they are, so that their vectors stay contiguous.
ir::Stmt clamp_unmasked_loads(const ir::Stmt& body);

}  // namespace gossamer::passes
