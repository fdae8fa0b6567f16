// Chooses how every tensor lies in memory: which axis is the vector axis, where channels are
// blocked, how constants are packed, which texture holds what.
#pragma once

#include <set>
#include <unordered_set>
#include <vector>

#include "records/choice.h"
#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::layout {

struct Ports {
  std::set<const ir::BufferNode*> inputs;   // plain (flat in textures): the run time fills them
  std::set<const ir::BufferNode*> outputs;  // plain (flat in textures): the run time reads them
  std::set<const ir::BufferNode*>
      constants;  // plain (flat in textures), as the model file has them
  std::unordered_set<const ir::BufferNode*> side = {};  // beside a GPU: row-major always
};

// Rewrites a program onto buffers with layouts, in place, and inserts the copies that change a
// layout (packing of constants, results of blocked computations that leave the model). `replaced`
// maps old buffers to new ones. Vector axes are those of `records`, where these have one: for
// `hardware`, where the program is for such adapters, too, then for `capabilities`.
void choose_layouts(stages::Program& program, const Ports& ports,
                    const target::Capabilities& capabilities,
                    std::vector<std::pair<ir::Buffer, ir::Buffer>>& replaced,
                    const records::PointSource* records = nullptr,
                    const target::Capabilities* hardware = nullptr);

}  // namespace gossamer::layout
