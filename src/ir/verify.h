// Checks that a kernel is well formed: types, scopes of variables and buffers, loop nesting; and
// that it has the properties asked for. Passes declare what they need and what they establish;
// pipelines verify between passes.
#pragma once

#include "ir/nodes.h"

namespace gossamer::ir {

enum class Property : uint32_t {
  scheduled = 1,        // exactly one grid loop, outermost; group loop directly inside if any
  no_vector_loops = 2,  // vectorized loops became vector expressions
  no_unrolled_loops = 4,
  flat_access = 8,  // linear buffers have one index (element offset), textures three (x, y, layer)
  contiguous_vectors =
      16,  // vector indices are Ramps of stride 1 (or absent); gathers are MakeVector of scalars
  storage_types =
      32,  // every Load and Store is of the buffer's storage type; types are legal for the target
  written_once =
      64,  // fragment programs: each grid iteration stores its own texel, each layer once
  math_lowered = 128,  // no transcendental Unary left
};
using Properties = uint32_t;
constexpr Properties operator|(Property a, Property b) {
  return static_cast<Properties>(a) | static_cast<Properties>(b);
}
constexpr Properties operator|(Properties a, Property b) { return a | static_cast<Properties>(b); }

Result<> verify(const Kernel&, Properties properties = 0);

}  // namespace gossamer::ir
