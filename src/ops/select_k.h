// The least keys of each row, chosen without a sort.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// An i32 that is less in what comes first among the largest (or smallest): -0 equals 0, NaN is
// greater than numbers. Of f32 and i32.
bool has_order_key(DType dtype);
Expr order_key(const Expr& x, bool largest);

// What `keys` i32 [rows.., n] have least, `count` of each row (positive), of equals those that come
// first; all of a shorter row, which n follows. 32 counts of a row decide: linear in n.
struct Least {
  Tensor upto;                    // i32 [rows.., n]: how many there are up to each place
  Tensor places;                  // i32 [rows.., count], rising
  Expr among(Point point) const;  // whether the place is one of them
};
Least least_of(Builder& b, const std::string& name, const Tensor& keys, const Expr& count);

}  // namespace gossamer::ops
