#pragma once

#include "ir/nodes.h"

namespace gossamer::passes {

// Turns logical indices into memory addresses by each buffer's layout: an element offset in linear
// memory, (x, y, layer) of a texel in texture memory. Vector accesses stay vectors where their
// elements are consecutive, and become scalar ones otherwise. Establishes flat_access and
// contiguous_vectors; needs no_vector_loops and no_unrolled_loops.
ir::Kernel flatten_access(const ir::Kernel& kernel);

// Physical elements of a buffer, padding included (4 a texel in texture memory).
ir::Expr physical_elements(const ir::BufferNode& buffer);

}  // namespace gossamer::passes
