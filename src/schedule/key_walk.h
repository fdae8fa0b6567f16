// A walk over tiles of keys, as GPUs (lower_online.cc) and CPUs (lower_online_vectors.cc) lower it.
#pragma once

#include <span>
#include <vector>

#include "online/online.h"
#include "schedule/schedule.h"

namespace gossamer::schedule {

class KeyWalk {
 public:
  KeyWalk(const stages::Group& group, std::span<const Schedule> schedules,
          const online::OnlineTile& tile);

 protected:
  const Schedule& schedule(online::OnlinePart part) const {
    return schedules_[static_cast<size_t>(part)];
  }
  const ir::Buffer& made(online::OnlinePart part) const { return schedule(part).stage().output; }

  // The body for each tile of keys that some row of the tile may see.
  ir::Stmt for_tiles(const ir::Stmt& body) const;
  // Stores the result of a row and a column of the tile.
  ir::Stmt store(const ir::Expr& row, const ir::Expr& column, const ir::Expr& sum) const;
  // The body for each tile of rows, of each point of the other axes.
  ir::Stmt in_items(ir::Stmt body) const;

  const stages::Stage& last_;
  online::Online online_;
  std::span<const Schedule> schedules_;
  online::OnlineTile tile_;
  size_t row_, column_;  // axes of the last stage

 private:
  ir::Expr keys() const;
};

}  // namespace gossamer::schedule
