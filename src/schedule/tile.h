// Stages over the same tiles: a workgroup computes a tile of each, one after the other, and holds
// in group memory what others of them read. Tiles lie along all but the first Group::outer axes.
#pragma once

#include <span>

#include "schedule/schedule.h"
#include "stages/group.h"

namespace gossamer::schedule {

// The members in one tile, over the axes within it; the outer ones are variables.
std::vector<stages::Stage> tile_stages(const stages::Group& group);

// Of a buffer whose extents are known.
int64_t elements_of(const ir::Buffer& buffer);

// A body whose parts follow each other, with barriers between them: what they alone have in group
// memory lies in the same place. `bytes` gains what that takes.
ir::Stmt share_group_memory(const ir::Stmt& body, std::span<const ir::Stmt> parts, int64_t& bytes);
// Tiles of its own for a body. `bytes` gains what they take.
ir::Stmt hold_in_group(std::span<const ir::Buffer> tiles, ir::Stmt body, int64_t& bytes);

}  // namespace gossamer::schedule
