#pragma once

#include <vector>

#include "ir/nodes.h"

namespace gossamer::passes {

// Turns logical indices into memory addresses by each buffer's layout: an element offset in linear
// memory, (x, y, layer) of a texel in texture memory. Vector accesses stay vectors where their
// elements are consecutive, loads also where they are up to `longest_stride` apart in either
// direction, and become scalar ones otherwise. Establishes flat_access, and with a stride of 1
// contiguous_vectors; needs no_vector_loops and no_unrolled_loops.
ir::Kernel flatten_access(const ir::Kernel& kernel, int64_t longest_stride = 1);

// Of each parameter of such a kernel in linear memory: 4 or 2 where every store to it is of so many
// neighbours or a multiple, from a multiple of that number on; else 1. Layout::pack may be that.
std::vector<int> neighbours_stored(const ir::Kernel& kernel);

// Physical elements of a buffer, padding included (4 a texel in texture memory).
ir::Expr physical_elements(const ir::BufferNode& buffer);

}  // namespace gossamer::passes
