// What attention's scores are multiplied by.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// The attribute `scale`, or else 1 / sqrt(width of a head), which a run may tell.
ir::Expr attention_scale(const Builder& b, const ir::Expr& width, ir::DType type);

}  // namespace gossamer::ops
