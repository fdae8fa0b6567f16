// Floats of the small integers that lie in the bits of others, such as weights of four bits.
#pragma once

#include <optional>

#include "ir/nodes.h"

namespace gossamer::codegen {

// f32(words & mask) - offset, where the mask is below 16.
struct SmallNumbers {
  ir::Expr words;
  int mask = 0;
  double offset = 0;
};
std::optional<SmallNumbers> small_numbers(const ir::Expr& e);

// Words that are bytes >> shift.
struct ShiftedBytes {
  ir::Expr bytes;
  int shift = 0;
};
std::optional<ShiftedBytes> shifted_bytes(const ir::Expr& words);

}  // namespace gossamer::codegen
