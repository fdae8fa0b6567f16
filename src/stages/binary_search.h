// Binary search as a reduction in order.
#pragma once

#include <functional>

#include "stages/stage.h"

namespace gossamer::stages {

// Makes of `stage` (its axes are set) a search for the first place from `first` to below `last`
// where `holds`, which then holds at all places behind it too; `last` where it holds nowhere. It is
// the stage's first accumulator, of type index. There are at most `longest` places (negative: not
// known); `holds` is also asked about places outside of them, of which nothing is used.
void search_in(Stage& stage, Expr first, Expr last, int64_t longest,
               const std::function<Expr(const Expr& place)>& holds);

}  // namespace gossamer::stages
