// Choosing elements by flags: how many there are is known only when the model runs.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// The numbers below `size` whose flag is set, in order.
struct Chosen {
  Tensor places;  // [count], i32
  Expr count;     // read by the host program where it is not known
};

// `flag` gives a boolean for each number below `size`. A running count and a scatter: linear, on
// GPUs with a search for each place.
Result<Chosen> chosen(Builder& b, const std::string& name, const Expr& size,
                      const std::function<Expr(Expr)>& flag);

}  // namespace gossamer::ops
