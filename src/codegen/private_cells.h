// Private memory whose every place is known: registers, not memory.
#pragma once

#include <cstdint>

#include "ir/nodes.h"

namespace gossamer::codegen {

// Of a private buffer, whose extents are known.
int64_t private_elements(const ir::BufferNode* buffer);

// How many elements a register has, by which every access in `body` is one of them, one element of
// it or, with `parts`, an aligned part of it; 0 where there is no such width.
int cell_lanes_of(const ir::BufferNode* buffer, const ir::Stmt& body, bool parts);

// Of an access that cell_lanes_of has seen: its first element.
int64_t constant_offset(const ir::Expr& index);

}  // namespace gossamer::codegen
