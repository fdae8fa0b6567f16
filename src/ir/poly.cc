#include "ir/poly.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "ir/build.h"

namespace gossamer::ir {
namespace {

constexpr size_t largest_expansion = 48;                                // terms
constexpr int64_t most_negative = std::numeric_limits<int64_t>::min();  // has no negative

// -magnitude for negative terms, so that sums read a - b * 2.
Expr product(const Term& term, int64_t coefficient) {
  Expr result = term.factors[0];
  for (size_t i = 1; i < term.factors.size(); ++i) result = result * term.factors[i];
  return result * index(coefficient);
}

// The atom that occurs in the most terms of degree two or more; null where none occurs twice.
Expr common_factor(const Poly& poly, Order& order) {
  Expr best;
  size_t most = 1;
  for (const Term& candidate_term : poly.terms) {
    if (candidate_term.factors.size() < 2) continue;
    for (const Expr& candidate : candidate_term.factors) {
      size_t count = 0;
      for (const Term& term : poly.terms) {
        count += std::any_of(term.factors.begin(), term.factors.end(),
                             [&](const Expr& f) { return order.compare(f, candidate) == 0; });
      }
      if (count > most || (count == most && best && order.compare(candidate, best) < 0)) {
        most = count;
        best = candidate;
      }
    }
  }
  return most > 1 ? best : Expr();
}

}  // namespace

Poly PolyAlgebra::of_atom(Expr atom) const {
  Poly poly;
  poly.terms.push_back({{std::move(atom)}, 1});
  return poly;
}

Poly PolyAlgebra::of_term(Term term) const {
  Poly poly;
  if (term.factors.empty()) {
    poly.constant = term.coefficient;
  } else if (term.coefficient != 0) {
    poly.terms.push_back(std::move(term));
  }
  return poly;
}

int PolyAlgebra::compare(const Term& a, const Term& b) {
  const size_t common = std::min(a.factors.size(), b.factors.size());
  for (size_t i = 0; i < common; ++i) {
    if (int result = order_.compare(a.factors[i], b.factors[i])) return result;
  }
  return a.factors.size() < b.factors.size() ? -1 : a.factors.size() > b.factors.size();
}

Poly PolyAlgebra::add(const Poly& a, const Poly& b, int64_t scale) {
  Poly sum;
  sum.valid = a.valid && b.valid;
  if (!sum.valid) return sum;
  auto combine = [&](int64_t x, int64_t y) {
    int64_t product, total;
    if (__builtin_mul_overflow(y, scale, &product) || __builtin_add_overflow(x, product, &total)) {
      sum.valid = false;
      return int64_t{0};
    }
    return total;
  };
  sum.constant = combine(a.constant, b.constant);
  sum.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const int which = i == a.terms.size()   ? 1
                      : j == b.terms.size() ? -1
                                            : compare(a.terms[i], b.terms[j]);
    if (which < 0) {
      sum.terms.push_back(a.terms[i++]);
    } else {
      const int64_t coefficient =
          combine(which == 0 ? a.terms[i].coefficient : 0, b.terms[j].coefficient);
      if (coefficient != 0) sum.terms.push_back({b.terms[j].factors, coefficient});
      ++j;
      if (which == 0) ++i;
    }
  }
  return sum;
}

Poly PolyAlgebra::scale(const Poly& a, int64_t by) {
  if (by == 0 && a.valid) return {};
  Poly result = a;
  auto apply = [&](int64_t& x) {
    if (__builtin_mul_overflow(x, by, &x)) result.valid = false;
  };
  apply(result.constant);
  for (Term& term : result.terms) apply(term.coefficient);
  return result;
}

Poly PolyAlgebra::multiply(const Poly& a, const Poly& b) {
  if (a.is_constant()) return scale(b, a.constant);
  if (b.is_constant()) return scale(a, b.constant);
  Poly total;
  total.valid =
      a.valid && b.valid && (a.terms.size() + 1) * (b.terms.size() + 1) <= largest_expansion;
  if (!total.valid) return total;
  for (const Term& x : a.terms) {
    Poly row;
    for (const Term& y : b.terms) {
      Term term;
      term.factors.reserve(x.factors.size() + y.factors.size());
      std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(),
                 std::back_inserter(term.factors),
                 [this](const Expr& p, const Expr& q) { return order_.compare(p, q) < 0; });
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &term.coefficient)) {
        total.valid = false;
        return total;
      }
      row = add(row, of_term(std::move(term)));
    }
    total = add(total, row);
    total = add(total, of_term(x), b.constant);
  }
  return add(total, b, a.constant);
}

bool PolyAlgebra::divides(const Term& divisor, const Term& term, Term* quotient) {
  if (divisor.coefficient == 0 || term.coefficient == most_negative ||
      term.coefficient % divisor.coefficient != 0)
    return false;
  quotient->coefficient = term.coefficient / divisor.coefficient;
  quotient->factors.clear();
  size_t next = 0;
  for (const Expr& factor : term.factors) {
    if (next < divisor.factors.size() && order_.compare(factor, divisor.factors[next]) == 0) {
      ++next;
    } else {
      quotient->factors.push_back(factor);
    }
  }
  return next == divisor.factors.size();
}

// start + poly; `start` may be null.
static Expr sum_from(Expr start, const Poly& poly, Order& order) {
  Expr sum = std::move(start);
  if (poly.terms.size() > 1) {
    // a * n + b * n + c becomes (a + b) * n + c: fewer multiplications where extents are symbolic.
    if (Expr factor = common_factor(poly, order)) {
      Poly inside, outside;
      outside.constant = poly.constant;
      for (const Term& term : poly.terms) {
        auto found = std::find_if(term.factors.begin(), term.factors.end(),
                                  [&](const Expr& f) { return order.compare(f, factor) == 0; });
        if (found == term.factors.end()) {
          outside.terms.push_back(term);
          continue;
        }
        Term rest = term;
        rest.factors.erase(rest.factors.begin() + (found - term.factors.begin()));
        if (rest.factors.empty()) {
          inside.constant += rest.coefficient;
        } else {
          inside.terms.push_back(std::move(rest));
        }
      }
      const Expr product = sum_from({}, inside, order) * factor;
      return sum_from(sum ? sum + product : product, outside, order);
    }
  }
  auto first = poly.terms.end();
  if (!sum.get()) {
    first = std::find_if(poly.terms.begin(), poly.terms.end(),
                         [](const Term& t) { return t.coefficient > 0; });
    if (first != poly.terms.end()) {
      sum = product(*first, first->coefficient);
    } else {
      sum = index(poly.constant);  // 5 - x; binary() drops the 0 of 0 + x * -1
    }
  }
  const bool constant_done = as<IntImm>(sum);
  for (auto term = poly.terms.begin(); term != poly.terms.end(); ++term) {
    if (term == first) continue;
    if (term->coefficient > 0 || term->coefficient == most_negative || is_const(sum, 0)) {
      sum = sum + product(*term, term->coefficient);
    } else {
      sum = sum - product(*term, -term->coefficient);
    }
  }
  if (constant_done) return sum;
  return poly.constant < 0 && poly.constant != most_negative ? sum - index(-poly.constant)
                                                             : sum + index(poly.constant);
}

Expr to_expr(const Poly& poly, Order& order) {
  GS_CHECK(poly.valid, "an overflowing sum");
  if (poly.terms.empty()) return index(poly.constant);
  return sum_from({}, poly, order);
}

}  // namespace gossamer::ir
