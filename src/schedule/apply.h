// Lists applied to stages: the only way in which schedules are made.
//
// Names::of_loops: each call is a primitive of schedule.h, its loops are called as in the kernel,
// and its arguments are exact. Traces are such lists.
//
// Names::by_place: a list for kernels of other sizes, too. `i0` is the first axis of the output,
// `k0` the first one of the reduction, `i0.i1` both fused; other loops have the names that the list
// gives them. Some words depend on the extents:
//
//   tile(i0, 6, 4) -> i0.tile, row, lane   split without parts of one iteration, which then do not
//                                          exist; without a tail, the one that the axis allows
//   texels() -> layer, lane                splits the axes as the layout of a texture divides them
//   reorder(k.., row, lane)                `k..`: all other loops of the reduction. Points that are
//                                          not named stay outside
//   accumulate(k.., row)                   before the outermost of them
//   unroll(k.., 4)                         from the innermost on, pieces of at most 4 iterations; a
//                                          longer loop is split where 4 divides it
//   peel(k0.block)                         nothing where the split leaves nothing over
//   fuse(.., 256) -> item                  `..`: the points outside. Inner ones stay loops until a
//                                          work item has 256 points; unit() where there are none
//
// A call whose loops do not exist does nothing.
#pragma once

#include <vector>

#include "schedule/list.h"
#include "schedule/schedule.h"
#include "stages/group.h"

namespace gossamer::schedule {

enum class Names : uint8_t { of_loops, by_place };

// The error names the call, and what is wrong with it.
Result<Schedule> apply(const stages::Stage& stage, const target::Capabilities& capabilities,
                       const List& list, Names names);

// The schedules of a group. Errors: a number of lists that it does not take, and, by place, another
// pattern than its own.
Result<std::vector<Schedule>> apply(const stages::Group& group,
                                    const target::Capabilities& capabilities, const Point& point,
                                    Names names);

// Whether the vectors of a map lie along an axis that they may not divide, or whose extent a run
// tells: the lanes past its end are skipped.
bool skips_lanes(const stages::Stage& stage, int axis, const target::Capabilities& caps);

std::string_view name_of(Primitive);
std::string_view name_of(Tail);

}  // namespace gossamer::schedule
