// Pieces of the stages over one tile of an online softmax.
#pragma once

#include <vector>

#include "online/online.h"

namespace gossamer::online {

// Elements of a vector on GPUs.
constexpr int gpu_lanes = 4;

// 0: only a run tells.
int64_t points_along(const stages::Stage& stage, int axis);

stages::Stage part_stage(stages::StageKind kind, const char* name, std::vector<ir::Var> axes,
                         std::vector<ir::Expr> extents);
// Makes a part a sum or maximum over one axis.
void reduce_over(stages::Stage& stage, const ir::Var& axis, const ir::Expr& extent,
                 const ir::Var& total, bool maximum);

// A place in a tile, `first` + `own`, as one of all: past the end, the last one.
ir::Expr place_in(const ir::Expr& first, const ir::Expr& own, const ir::Expr& extent, int64_t tile);
// Whether such a place is before the end; null: all are.
ir::Expr is_inside(const ir::Expr& first, const ir::Expr& own, const ir::Expr& extent,
                   int64_t tile);
// `value` where `inside` holds, else `other`; `inside` may be null.
ir::Expr where(const ir::Expr& inside, const ir::Expr& value, const ir::Expr& other);

// exp(score - maximum), where `peak` is the maximum. In rows without a finite score so far, weights
// are 0 rather than exp(-inf - -inf).
ir::Expr weight_of(const Online& online, const ir::Expr& shift, const ir::Expr& score,
                   const ir::Expr& peak);

// The walk on CPUs (online_vectors.cc), where one work item has a tile of queries in its private
// memory.
OnlineTile vector_tile(const stages::Group& group, const target::Capabilities& capabilities);
std::vector<stages::Stage> vector_stages(const stages::Group& group,
                                         const target::Capabilities& capabilities);
// Those of one of its tiles.
std::vector<stages::Stage> vector_stages(const stages::Group& group, const OnlineTile& tile,
                                         const target::Capabilities& capabilities);
// Lanes of vectors along an axis that they divide; 1: there are none.
int64_t lanes_along(int64_t extent, const target::Capabilities& capabilities);
}  // namespace gossamer::online
