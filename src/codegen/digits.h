// Quotients and remainders of a loop's variable that can be counted instead.
#pragma once

#include <vector>

#include "ir/nodes.h"

namespace gossamer::codegen {

// A variable that the body of a loop begins with: the loop's variable // stride % extent.
struct Digit {
  const ir::Let* let = nullptr;
  ir::Expr extent;  // null: of the last one, which counts on
};

// Digits of a mixed radix, whose first one changes each time, the next when that begins anew, and
// so on. None where all extents are constants, by which division is cheap.
std::vector<Digit> digits_of(const ir::For& loop);

}  // namespace gossamer::codegen
