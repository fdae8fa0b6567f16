// What an extent that only a run tells is likely to be, for choices that are right for any.
#pragma once

#include <optional>
#include <unordered_map>

#include "ir/nodes.h"
#include "ir/scalar.h"

namespace gossamer::ir {

// Values that replace VarNode::estimate.
using VarValues = std::unordered_map<const VarNode*, int64_t>;

// An expression's value with each variable at its value or estimate; none if it depends on memory.
std::optional<Scalar> estimated_value(const Expr& e, const VarValues& values = {});

// The same as an integer; default_estimate if it depends on memory.
int64_t estimated_size(const Expr& e, const VarValues& values = {});

// estimated_size() of an extent, from 0 to 2^20; a constant is itself.
int64_t estimate(const Expr& extent);

}  // namespace gossamer::ir
