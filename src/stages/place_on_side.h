// What a GPU cannot compute, or not exactly, runs on the CPU beside it (docs/specs/host.md, "The
// side").
#pragma once

#include <limits>
#include <string>

#include "stages/stage_graph.h"

namespace gossamer::stages {

// Why a stage needs the side of a target without 64-bit floats; empty where the target has what it
// needs.
std::string needs_side(const Stage& stage);

// Marks those stages (Stage::side), and those with more than `max_buffers`, the one they write
// included, notes which buffers lie on the side (StageGraph::side) and puts copies where one device
// reads what the other wrote. A buffer that only stages of the side touch
// lies there too, ports and constants included.
void place_on_side(StageGraph& graph, int max_buffers = std::numeric_limits<int>::max());

}  // namespace gossamer::stages
