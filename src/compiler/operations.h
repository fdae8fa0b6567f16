// How much arithmetic a launch does: what profiles divide by its time.
#pragma once

#include "stages/group.h"

namespace gossamer::compiler {

// Operations on numbers of all points of all stages: each unary and binary one and each comparison
// counts one, a multiply-add two; a product of M x K with K x N is 2 M N K. Not counted: indices,
// conversions, choices, logic, and the comparisons of a sort. Of type index, over the dimensions;
// 0 where it is no number below 2^53.
ir::Expr operations_of(const stages::Group& group);

}  // namespace gossamer::compiler
