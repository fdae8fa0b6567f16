// Division and remainder of sums by sums: products of open extents divide like numbers.
#include <algorithm>
#include <bit>

#include "ir/build.h"
#include "ir/scalar.h"
#include "ir/simplifier.h"

namespace gossamer::ir {

const Term& leading(const Poly& p) {
  return *std::ranges::max_element(p.terms, {}, [](const Term& t) { return t.factors.size(); });
}

Simplifier::Split Simplifier::divide(const Poly& p, const Poly& by) {
  Split split{{}, p};
  if (by.is_constant()) {
    split.rest = Poly(floor_mod(p.constant, by.constant));
    split.quotient = Poly(floor_div(p.constant, by.constant));
    for (const Term& term : p.terms) {
      const bool divides = term.coefficient % by.constant == 0;
      (divides ? split.quotient : split.rest)
          .terms.push_back(
              {term.factors, divides ? term.coefficient / by.constant : term.coefficient});
    }
    return split;
  }
  const Term& lead = leading(by);
  for (int round = 0; round < 24; ++round) {
    Term quotient;
    auto found = std::find_if(split.rest.terms.begin(), split.rest.terms.end(),
                              [&](const Term& t) { return algebra_.divides(lead, t, &quotient); });
    if (found == split.rest.terms.end()) break;
    const Poly q = algebra_.of_term(quotient);
    const Poly rest = algebra_.add(split.rest, algebra_.multiply(q, by), -1);
    if (!rest.valid) break;
    split.quotient = algebra_.add(split.quotient, q);
    split.rest = rest;
  }
  return split;
}

// The factors and the number that divide every term.
Term Simplifier::content_of(const Poly& p) {
  Term content{{}, gcd(p.constant, 0)};
  for (const Term& term : p.terms) content.coefficient = gcd(content.coefficient, term.coefficient);
  if (p.constant != 0 || p.terms.empty()) return content;
  content.factors = p.terms[0].factors;
  for (const Term& term : p.terms) {
    content.factors.erase_if([&](const Expr& factor) {
      return std::ranges::none_of(term.factors,
                                  [&](const Expr& f) { return order_.compare(f, factor) == 0; });
    });
  }
  return content;
}

bool Simplifier::positive(const Poly& p) {
  if (not_negative(algebra_.add(p, Poly(-1)))) return true;
  // Simplifying an extent may ask the same of a divisor in it.
  if (asks_extents_ || bounds_.positive_.empty() || !p.valid || p.terms.size() < 2) return false;
  // A multiple of a sum that is an extent, such as 32 * (past + sequence).
  const Term content = content_of(p);
  if (!std::ranges::all_of(content.factors, [&](const Expr& e) { return ranges_.of(e).low > 0; }))
    return false;
  asks_extents_ = true;
  const Poly sum = divide(p, algebra_.of_term(content)).quotient;
  const bool known = std::ranges::any_of(bounds_.positive_, [&](const Expr& extent) {
    return not_negative(algebra_.add(sum, poly(extent), -1));
  });
  asks_extents_ = false;
  return known;
}

// 0 <= p < by
bool Simplifier::is_rest(const Poly& p, const Poly& by) {
  if (not_negative(p) && positive(algebra_.add(by, p, -1))) return true;
  // x // d < by where x < d * by
  if (!p.valid || p.terms.size() != 1 || p.constant != 0 || p.terms[0].coefficient != 1 ||
      p.terms[0].factors.size() != 1)
    return false;
  auto* nested = binary_of(p.terms[0].factors[0], BinaryOp::floordiv);
  if (!nested) return false;
  const Poly d = poly(nested->b);
  return d.valid && positive(d) && is_rest(poly(nested->a), algebra_.multiply(d, by));
}

// by == size * count and p == size * quotient + rest with 0 <= rest < size > 0.
std::optional<Simplifier::Blocks> Simplifier::blocks_of(const Poly& p, const Poly& by) {
  const Term content = content_of(by);  // counts are made of it
  constexpr size_t most_factors = 4;
  const size_t factors = content.factors.size();
  if (factors > most_factors) return {};
  // Of 64 * h * w, 16 is the count where the terms are multiples of 4 * h * w.
  std::vector<int64_t> coefficients{1};
  const auto add = [&](int64_t count) {
    if (std::ranges::find(coefficients, count) == coefficients.end()) coefficients.push_back(count);
  };
  add(content.coefficient);
  for (const Term& term : p.terms)
    add(content.coefficient / gcd(content.coefficient, term.coefficient));
  std::vector<Term> counts;  // the largest blocks first: they leave the least to divide
  for (size_t size = 0; size <= factors; ++size) {
    for (uint32_t chosen = 0; chosen < 1u << factors; ++chosen) {
      if (static_cast<size_t>(std::popcount(chosen)) != size) continue;
      Term count{{}, 1};
      for (size_t i = 0; i < factors; ++i) {
        if (chosen >> i & 1) count.factors.push_back(content.factors[i]);
      }
      for (const int64_t coefficient : coefficients) {
        count.coefficient = coefficient;
        if (chosen || coefficient > 1) counts.push_back(count);
      }
    }
  }
  for (const Term& count : counts) {
    const Poly by_count = algebra_.of_term(count);
    Split sizes = divide(by, by_count);
    if (sizes.rest.valid && (!sizes.rest.is_constant() || sizes.rest.constant != 0)) continue;
    const Poly& size = sizes.quotient;
    if (!size.valid || (size.is_constant() && size.constant <= 1) || !positive(size)) continue;
    Split parts = divide(p, size);
    if (parts.quotient.is_constant() || !is_rest(parts.rest, size)) continue;
    return Blocks{size, by_count, std::move(parts)};
  }
  return {};
}

Poly Simplifier::floordiv(const Poly& p, const Poly& by) {
  if (by.is_constant()) return floordiv(p, by.constant);
  if (p.valid && by.valid && positive(by)) {
    const Split split = divide(p, by);
    const Poly& rest = split.rest;
    if (rest.is_constant() && rest.constant == 0) return split.quotient;
    if (is_rest(rest, by)) return split.quotient;
    if (auto blocks = blocks_of(rest, by))
      return algebra_.add(split.quotient, floordiv(blocks->parts.quotient, blocks->count));
    if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 &&
        rest.terms[0].factors.size() == 1) {
      const Expr& inner = rest.terms[0].factors[0];
      if (auto* nested = binary_of(inner, BinaryOp::floordiv)) {
        // (x // d + k) // by -> (x + k * d) // (d * by)
        const Poly d = poly(nested->b), both = algebra_.multiply(d, by);
        const Poly x = algebra_.add(poly(nested->a), d, rest.constant);
        if (both.valid && x.valid && positive(d))
          return algebra_.add(split.quotient, floordiv(x, both));
      } else if (auto* mod = binary_of(inner, BinaryOp::floormod); mod && rest.constant == 0) {
        // (x % (by * m)) // by -> (x // by) % m
        const Split d = divide(poly(mod->b), by);
        if (d.rest.is_constant() && d.rest.constant == 0)
          return algebra_.add(split.quotient, floormod(floordiv(poly(mod->a), by), d.quotient));
      }
    }
    return algebra_.add(split.quotient, atom(binary(BinaryOp::floordiv, finish(rest), finish(by))));
  }
  if (!p.valid) return p;
  const Expr kept = binary(BinaryOp::floordiv, finish(p), finish(by));
  return as_int(kept) ? Poly(*as_int(kept)) : atom(kept);
}

Poly Simplifier::floormod(const Poly& p, const Poly& by) {
  if (by.is_constant()) return floormod(p, by.constant);
  if (!p.valid) return p;
  if (!by.valid) return atom(binary(BinaryOp::floormod, finish(p), finish(by)));
  const Poly rest = divide(p, by).rest;
  if (rest.is_constant() && rest.constant == 0) return rest;
  if (is_rest(rest, by)) return rest;
  if (positive(by)) {
    if (auto blocks = blocks_of(rest, by)) {
      const Poly high = floormod(blocks->parts.quotient, blocks->count);
      return algebra_.add(algebra_.multiply(high, blocks->size), blocks->parts.rest);
    }
    // c * (y % d) and c * y differ by a multiple of `by` where it divides c * d.
    for (const Term& term : rest.terms) {
      auto* nested =
          term.factors.size() == 1 ? binary_of(term.factors[0], BinaryOp::floormod) : nullptr;
      if (!nested) continue;
      const Split d = divide(algebra_.scale(poly(nested->b), term.coefficient), by);
      if (!d.rest.is_constant() || d.rest.constant != 0) continue;
      const Poly same = algebra_.add(algebra_.add(rest, algebra_.of_term(term), -1),
                                     poly(nested->a), term.coefficient);
      if (same.valid) return floormod(same, by);
    }
  }
  const Expr kept = binary(BinaryOp::floormod, finish(rest), finish(by));
  return as_int(kept) ? Poly(*as_int(kept)) : atom(kept);
}

}  // namespace gossamer::ir
