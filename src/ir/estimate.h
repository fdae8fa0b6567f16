// What an extent that only a run tells is likely to be, for choices that are right for any.
#pragma once

#include <optional>
#include <unordered_map>

#include "ir/nodes.h"
#include "ir/scalar.h"

namespace gossamer::ir {

// Of variables that have another value than their VarNode::estimate.
using VarValues = std::unordered_map<const VarNode*, int64_t>;

// With each variable at its value or estimate; none: memory decides.
std::optional<Scalar> estimated_value(const Expr& e, const VarValues& values = {});

// The same of an extent, from 0 to 2^20; a constant is itself, default_estimate where it has none.
int64_t estimate(const Expr& extent, const VarValues& values = {});

}  // namespace gossamer::ir
