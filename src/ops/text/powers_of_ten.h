// Powers of ten as numbers of 128 bits, for exact conversion between binary and decimal.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// i32 to i32: the greatest e with 2^e <= 10^k, for |k| <= 1233.
Expr log2_of_power(const Expr& k);

// 10^k for first <= k <= last, as 10^k = m * 2^(log2_of_power(k) - bits + 1): the words of m, the
// greatest first, rounded up. With words of u32 `bits` is 64, of u64 it is 128.
class PowersOfTen {
 public:
  PowersOfTen(Builder& b, DType word, int first, int last);
  Expr high(const Expr& k) const { return word(k, 0); }
  Expr low(const Expr& k) const { return word(k, 1); }

 private:
  Expr word(const Expr& k, int which) const;
  DType word_;
  int first_;
  Tensor table_;
};

// Whole products of words, u32 or u64.
Expr high_of_product(const Expr& a, const Expr& b);
Expr shifted_left(Expr a, Expr by);
Expr shifted_right(Expr a, Expr by);

}  // namespace gossamer::ops
