// The least keys of each row, chosen without a sort.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// An integer whose order is that of x among the largest (or smallest) first: -0 equals 0, NaN is
// greater than numbers. Of type i32 where x has 32 bits or fewer and is no u32, else null.
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
