// Polynomials over index expressions: the canonical form behind simplify.
#pragma once

#include "base/small_vector.h"
#include "ir/order.h"

namespace gossamer::ir {

struct Term {
  SmallVector<Expr, 2> factors;  // atoms in order, repeated for powers; never empty
  int64_t coefficient = 1;       // never 0
};

// Sum of terms (in order, all different) and a constant. `valid` is lost where a coefficient leaves
// 64 bits or an expansion would grow too large; whoever sees that keeps the expression as it was.
struct Poly {
  SmallVector<Term, 2> terms;
  int64_t constant = 0;
  bool valid = true;

  Poly() = default;
  Poly(int64_t value) : constant(value) {}
  bool is_constant() const { return valid && terms.empty(); }
};

class PolyAlgebra {
 public:
  explicit PolyAlgebra(Order& order) : order_(order) {}

  Poly of_atom(Expr atom) const;
  Poly of_term(Term term) const;
  Poly add(const Poly& a, const Poly& b, int64_t scale = 1);  // a + scale * b
  Poly multiply(const Poly& a, const Poly& b);
  Poly scale(const Poly& a, int64_t by);
  // a / b where every term of b's factors (and its coefficient) divides; only for a single-term b.
  bool divides(const Term& divisor, const Term& term,
               Term* quotient);               // a constant quotient has no factors
  int compare(const Term& a, const Term& b);  // factors only

 private:
  Order& order_;
};

// The sum as an expression: common factors pulled out, positive terms first, the constant last.
Expr to_expr(const Poly&, Order&);

}  // namespace gossamer::ir
