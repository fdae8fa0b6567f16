// What a load does when one axis moves: the only thing schedules and layouts decide by.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/loads.h"
#include "ir/nodes.h"
#include "ir/simplify.h"
#include "stages/stage.h"

namespace gossamer::stages {

enum class Along : uint8_t {
  still,       // the address does not depend on the axis
  contiguous,  // consecutive elements, starting at a whole vector where the layout is blocked
  strided,     // every second to fourth element, where vectors may begin anywhere
  gather,      // anything else
};

// The logical dim whose consecutive elements are consecutive in memory: the last one of plain
// memory, the blocked one otherwise; -1 for a tensor of rank 0.
int vector_dim(const ir::Layout& layout, int rank);
// True where elements of `vector_dim` beyond a block of `lanes` are not consecutive.
bool is_blocked(const ir::Layout& layout);

// `inside`: vectors may begin anywhere along the axis, but none of them reaches past its end. Only
// then is a load strided.
Along along(const ir::Load& load, const ir::Layout& layout, const ir::Var& axis, int lanes,
            const ir::Bounds& bounds, bool inside = false);

// How many neighbours a step along an axis of a reduction reads as one word.
int elements_of_word(const Stage& stage, const ir::Var& axis);

using ir::loads_of;

// Of a stage's values, result and first values.
std::vector<const ir::Load*> loads_of_stage(const Stage& stage);

bool reads(const Stage& stage, const ir::Buffer& buffer);
// Whether a step along an axis changes the place.
bool moves(const ir::Load& load, const ir::Var& axis);

// Every index is one distinct axis of the stage, to which what is the same in all points may be
// added, or a constant: the tensor may be laid out anew at will.
bool simple_indices(const Stage& stage, const ir::Load& load);

// Whether neighbours along an axis have the same index, in runs of so many that begin at its
// multiples: the axis stands in quotients by multiples of that alone.
bool is_shared(const ir::Expr& index, const ir::Var& axis, int64_t run);

// The most lanes of a vector along an axis, at most `lanes`, that read one element of an operand
// whose neighbours share theirs: channels of a group of a convolution. Two groups in one vector
// would be a gather.
int lanes_of_runs(const Stage& stage, const ir::Var& axis, int lanes);

// Of a map: how many neighbours along each axis read nearly all that they read alike, so that a
// transform of it is computed together for all of them; 1: not so.
std::vector<int64_t> runs_of(const Stage& stage);

// Whether points of a map beside each other, along other axes than that of its vectors, read alike.
bool shares(const Stage& stage, int vector_axis);
// The point whose row-major number among these extents is given.
std::vector<ir::Expr> unravel(const ir::Expr& number, const std::vector<ir::Expr>& extents);

ir::Expr ceil_div(ir::Expr a, int64_t b);
ir::Expr round_up(ir::Expr a, int64_t b);

}  // namespace gossamer::stages
