// Where buffers live in a shader, and accesses in those terms.
#pragma once

#include <unordered_map>

#include "ir/nodes.h"

namespace gossamer::codegen::text {

struct Place {
  int width = 1;           // elements are scalars, or vectors of 4
  bool registers = false;  // private, every index constant: one variable an element
  int64_t elements = 0;    // of `width` scalars; private and group scope only
};

struct Placed {
  ir::Kernel kernel;
  std::unordered_map<const ir::BufferNode*, Place> places;  // all linear buffers
};

// Needs flat_access and contiguous_vectors. Linear accesses become accesses of elements:
// - Load and Store have one scalar index, counted in elements; a Load of an element of 4 has a
// vector type,
// - a Store of one lane of such an element (private memory only) has two indices: element, lane.
// A buffer has elements of 4 where every vector access is provably aligned, its size is a multiple
// of 4, and nothing stores one lane (in private memory that is allowed). Texture accesses stay as
// they are. With `clamp`, no load leaves its buffer: for languages whose memory is not robust.
// Fails for vectors of more than 4 lanes.
Result<Placed> place_buffers(const ir::Kernel&, bool clamp = false);

}  // namespace gossamer::codegen::text
