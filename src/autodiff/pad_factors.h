// Products of loads that leave their tensors, as products of padded ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/builder.h"

namespace gossamer::autodiff {

// The term of a sum, `product` where all of `guards` hold, else 0, without a condition: factors are
// read from copies with zeros around them, and between them where a guard asks for multiples of a
// stride. So the sum stays one that schedules know as a contraction. The copies are stages of
// `builder`. None where `product` is not one of two loads, a range is not known in numbers, or a
// guard is none of a load's.
std::optional<ir::Expr> padded_product(ops::Builder& builder, const std::string& name,
                                       const ir::Expr& product, const std::vector<ir::Expr>& guards,
                                       const ir::Bounds& bounds);

}  // namespace gossamer::autodiff
