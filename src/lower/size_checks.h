// Stages whose tensors no device can hold, or whose expressions nobody can compile.
#pragma once

#include <string>

#include "lower/stage_builder.h"

namespace gossamer::lower {

// The nodes of an expression, shared ones each time, counted up to `limit`: a model may square a
// dimension again and again.
size_t size_of(const Expr& expr, size_t limit);
constexpr size_t max_extent_size = 1000;  // nodes of an expression for a dimension or host value

// An error, or, where dimensions decide, checks before the stage, which is the next entry. No
// tensor has more than `most` elements. `place` is what errors call the stage.
Result<> check_sizes(const stages::Stage& stage, int64_t most, const std::string& place,
                     StageBuilder& stages);

}  // namespace gossamer::lower
