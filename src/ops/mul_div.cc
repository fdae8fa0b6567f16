#include "ops/mul_div.h"

#include "ops/builder.h"

namespace gossamer::ops {

// The quotient in f32 is off by a relative 2^-20 at most. What is left is then a few times `below`,
// so it comes out right in integers that wrap, and says how far off the quotient is.
Quotient quotient_of_product(const Builder& b, const Expr& x, const Expr& y, const Expr& plus,
                             const Expr& below) {
  const auto real = [](const Expr& e) { return ir::cast(DType::f32, e); };
  const auto wrapping = [](const Expr& e) { return ir::cast(DType::i32, e); };
  const Expr estimate = as_index(ir::floor(real(x) * (real(y) / real(below))));
  const Expr left =
      as_index(wrapping(x) * wrapping(y) + wrapping(plus) - wrapping(estimate) * wrapping(below));
  return {b.simplify(estimate + ir::floordiv(left, below)), b.simplify(ir::floormod(left, below))};
}

Result<> check_modulus(Builder& b, const Expr& size) {
  constexpr int64_t largest = int64_t{1} << 24;
  return b.require(size <= static_cast<double>(largest),
                   cat("is exact for at most ", largest, " samples"));
}

Expr product_modulo(const Builder& b, const Expr& x, const Expr& y, const Expr& size) {
  const auto known = ir::as_int(b.simplify(size));
  if (known && *known * *known < (int64_t{1} << 31)) return ir::floormod(x * y, size);
  return quotient_of_product(b, x, y, ir::index(0), size).rest;
}

}  // namespace gossamer::ops
