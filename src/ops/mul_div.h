// Quotients of products that the 32 bits of most targets' indices do not hold.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// whole + rest / below, with rest in [0, below). All of type index.
struct Quotient {
  Expr whole, rest;
};

// (x * y + plus) / below. Right as long as |x * y| < wide_product_limit, below < 2^28 and plus /
// below is small; the product itself may wrap.
inline constexpr int64_t wide_product_limit = int64_t{1} << 48;
Quotient quotient_of_product(const Builder& b, const Expr& x, const Expr& y, const Expr& plus,
                             const Expr& below);

// x * y modulo `size`, which both are below and which check_modulus has let pass.
Result<> check_modulus(Builder& b, const Expr& size);
Expr product_modulo(const Builder& b, const Expr& x, const Expr& y, const Expr& size);

}  // namespace gossamer::ops
