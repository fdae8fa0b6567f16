// Winograd's algorithm: convolutions with windows of 3 x 3 in fewer multiplications (Lavin and
// Gray, arXiv 1509.09308). A tile of m x m points takes (m + 2)^2 products a channel in place of 9
// m^2.
#pragma once

#include <set>

#include "records/layout_records.h"
#include "stages/program.h"

namespace gossamer::rewrite {

// Sums of products over channels and a window of 3 x 3 that moves by one, in f32, whose weights
// alone are constants, become four stages: weights in another basis, which are computed at load,
// tiles of the input likewise, a matrix product for each of (m + 2)^2 places, and the points from
// these. After fusion and before layouts. m is that of `records`, where these have one, else by
// what it costs (costs.h). `hardware`: as of choose_layouts.
//
// Against the direct sum, points differ by rounding (docs/specs/semantics.md has figures), and what
// is infinite or NaN in a tile makes all of its points NaN.
void use_winograd(stages::Program& program, const std::set<const ir::BufferNode*>& constants,
                  const target::Capabilities& capabilities,
                  const records::PointSource* records = nullptr,
                  const target::Capabilities* hardware = nullptr);

}  // namespace gossamer::rewrite
