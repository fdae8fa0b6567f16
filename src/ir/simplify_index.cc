// Sums, products, division and remainder of index expressions.
#include <algorithm>

#include "ir/build.h"
#include "ir/scalar.h"
#include "ir/simplifier.h"

namespace gossamer::ir {
namespace {

bool finite(Range r) { return r.low != minus_infinity && r.high != plus_infinity; }

bool is_division(const Expr& e) {
  return binary_of(e, BinaryOp::floordiv) || binary_of(e, BinaryOp::floormod);
}

bool within_block(Range r, int64_t block) {
  return finite(r) && floor_div(r.low, block) == floor_div(r.high, block);
}

}  // namespace

const Binary* binary_of(const Expr& e, BinaryOp op) {
  auto* b = as<Binary>(e);
  return b && b->op == op ? b : nullptr;
}

bool leaves_32_bits(Range r) {
  return finite(r) && (r.low < std::numeric_limits<int32_t>::min() ||
                       r.high > std::numeric_limits<int32_t>::max());
}

Poly Simplifier::atom(Expr e) {
  Poly result = algebra_.of_atom(canonical(e));
  return memory_.polys.find(e) ? result : known_poly(e, std::move(result));
}

const Poly& Simplifier::known_poly(const Expr& e, Poly poly) {
  return *memory_.polys.add(e, std::make_unique<const Poly>(std::move(poly)));
}

Poly Simplifier::opaque(const Expr& e) {
  const Expr simple = expr(e);
  if (auto value = as_int(simple)) return Poly(*value);
  if (const auto* known = memory_.polys.find(simple)) return **known;
  if (auto* b = as<Binary>(simple);
      b && (b->op == BinaryOp::add || b->op == BinaryOp::sub || b->op == BinaryOp::mul)) {
    return poly(simple);
  }
  return algebra_.of_atom(simple);
}

const Poly& Simplifier::poly(const Expr& e) {
  if (auto* imm = as<IntImm>(e))
    return memory_.constants.try_emplace(imm->value, imm->value).first->second;
  if (const auto* known = memory_.polys.find(e)) return **known;
  Poly result = compute_poly(e);
  if (!result.valid) {
    // Kept as it is, over simple operands.
    if (auto* b = as<Binary>(e)) {
      result = atom(binary(b->op, expr(b->a), expr(b->b)));
    } else if (auto* u = as<Unary>(e)) {
      result = atom(unary(u->op, expr(u->a)));
    }
  }
  return known_poly(e, std::move(result));
}

Poly Simplifier::compute_poly(const Expr& e) {
  if (auto* u = as<Unary>(e); u && u->op == UnaryOp::neg) return algebra_.scale(poly(u->a), -1);
  auto* b = as<Binary>(e);
  if (!b || b->type != Type(DType::index)) return opaque(e);
  switch (b->op) {
    case BinaryOp::add:
      return algebra_.add(poly(b->a), poly(b->b));
    case BinaryOp::sub:
      return algebra_.add(poly(b->a), poly(b->b), -1);
    case BinaryOp::mul:
      return algebra_.multiply(merged_of(b->a), merged_of(b->b));
    case BinaryOp::div:
    case BinaryOp::rem: {
      const Poly &a = merged_of(b->a), &by = merged_of(b->b);
      if (not_negative(a) && not_negative(by)) {
        return b->op == BinaryOp::div ? floordiv(a, by) : floormod(a, by);
      }
      const Expr kept = binary(b->op, finish(a), finish(by));
      return as_int(kept) ? Poly(*as_int(kept)) : atom(kept);
    }
    case BinaryOp::floordiv:
      return floordiv(merged_of(b->a), merged_of(b->b));
    case BinaryOp::floormod:
      return floormod(merged_of(b->a), merged_of(b->b));
    case BinaryOp::shl:
    case BinaryOp::shr:
      if (auto by = as_int(expr(b->b)); by && *by >= 0 && *by < 31) {
        const int64_t factor = int64_t{1} << *by;
        return b->op == BinaryOp::shl ? algebra_.scale(poly(b->a), factor)
                                      : floordiv(merged_of(b->a), factor);
      }
      return opaque(e);
    default:
      return opaque(e);
  }
}

Expr Simplifier::finish(const Poly& p) {
  std::optional<Poly> own;
  const Poly& simple = merged(p, own);
  Expr result = to_expr(simple, order_);
  if (as<IntImm>(result)) return result;
  result = canonical(std::move(result));
  if (!memory_.polys.find(result)) known_poly(result, simple);
  return result;
}

// What a sum costs: different divisions first, but for quotients that are extents, then terms.
std::pair<size_t, size_t> Simplifier::effort(const Poly& p) {
  SmallVector<const Expr*, 4> divisions;
  for (const Term& term : p.terms) {
    for (const Expr& e : term.factors) {
      const auto same = [&](const Expr* known) { return order_.compare(*known, e) == 0; };
      const bool extent = binary_of(e, BinaryOp::floordiv) && ranges_.of(e).low > 0;
      if (is_division(e) && !extent && std::ranges::none_of(divisions, same))
        divisions.push_back(&e);
    }
  }
  return {divisions.size(), p.terms.size()};
}

void Simplifier::define(const VarNode* var, const Expr& value) {
  Poly p = poly(value);
  Poly spelled(p.constant);
  for (const Term& term : p.terms) {
    auto* inner = term.factors.size() == 1 ? as<VarNode>(term.factors[0]) : nullptr;
    auto known = inner ? definitions_.find(inner) : definitions_.end();
    spelled = known == definitions_.end() ? algebra_.add(spelled, algebra_.of_term(term))
                                          : algebra_.add(spelled, known->second, term.coefficient);
  }
  if (spelled.valid && effort(spelled).first > 0) definitions_[var] = std::move(spelled);
}

Range Simplifier::range(const Term& term) {
  Range r = exactly(term.coefficient);
  for (size_t i = 0; i < term.factors.size(); ++i) {
    if (i + 1 < term.factors.size() && order_.compare(term.factors[i], term.factors[i + 1]) == 0) {
      Range square = ranges_.of(term.factors[i]) * ranges_.of(term.factors[i]);
      square.low = std::max<int64_t>(square.low, 0);
      r = r * square;
      ++i;
    } else {
      r = r * ranges_.of(term.factors[i]);
    }
  }
  return r;
}

Range Simplifier::range(const Poly& p) {
  Range sum = exactly(p.constant);
  for (const Term& term : p.terms) sum = sum + range(term);
  return sum;
}

int64_t Simplifier::multiple_of(const Term& term) {
  int64_t factor = gcd(term.coefficient, 0);
  for (const Expr& e : term.factors) {
    int64_t product;
    if (__builtin_mul_overflow(factor, ranges_.multiple_of(e), &product)) return factor;
    factor = product;
  }
  return factor;
}

// With Lets replaced by their quotients and remainders where these join again: an address made of
// the coordinates that were taken from one number is that number.
Poly Simplifier::merged(Poly p) {
  if (!may_merge(p)) return p;
  p = merged_pairs(std::move(p));
  if (definitions_.empty() || !p.valid) return p;
  Poly spelled(p.constant);
  bool any = false;
  for (const Term& term : p.terms) {
    auto* var = term.factors.size() == 1 ? as<VarNode>(term.factors[0]) : nullptr;
    auto known = var ? definitions_.find(var) : definitions_.end();
    any = any || known != definitions_.end();
    spelled = known == definitions_.end() ? algebra_.add(spelled, algebra_.of_term(term))
                                          : algebra_.add(spelled, known->second, term.coefficient);
  }
  if (!any) return p;
  spelled = merged_pairs(std::move(spelled));
  const auto before = effort(p), after = effort(spelled);
  const bool better = spelled.valid && after.first <= before.first && after.second < before.second;
  return better ? spelled : p;
}

// x - by * (x // by) - x % by, where `part`, a quotient or a remainder by `by` > 0, stays as it is.
// Not valid: it is neither.
const Poly& Simplifier::zero_of(const Expr& part) {
  const auto [known, fresh] = memory_.zeros.try_emplace(part.get());
  if (!fresh) return known->second;
  const Binary* mod = binary_of(part, BinaryOp::floormod);
  const Binary* both = mod ? mod : binary_of(part, BinaryOp::floordiv);
  Poly zero;
  zero.valid = both != nullptr;
  if (zero.valid) {
    const Poly& by = poly(both->b);
    const Poly& x = poly(both->a);
    const Poly same = algebra_.of_atom(part);
    zero.valid = by.valid && positive(by);
    if (zero.valid) {
      zero = algebra_.add(x, algebra_.multiply(by, mod ? floordiv(x, by) : same), -1);
      zero = algebra_.add(zero, mod ? same : floormod(x, by), -1);
    }
  }
  memory_.alive.push_back(part);
  // Others may have come meanwhile.
  return memory_.zeros[part.get()] = std::move(zero);
}

// How often `by * part` is in a term that has the factor `part`; nullopt where it isn't.
std::optional<Term> Simplifier::times_of(const Term& term, size_t part, const Poly& by) {
  Term others{{}, term.coefficient};
  for (size_t i = 0; i < term.factors.size(); ++i) {
    if (i != part) others.factors.push_back(term.factors[i]);
  }
  Term lead{{}, by.constant};
  if (!by.terms.empty()) lead = leading(by);
  Term times;
  return algebra_.divides(lead, others, &times) ? std::optional(times) : std::nullopt;
}

bool Simplifier::may_merge(const Poly& p) const {
  return std::ranges::any_of(p.terms, [&](const Term& term) {
    const auto* var =
        term.factors.size() == 1 && !definitions_.empty() ? as<VarNode>(term.factors[0]) : nullptr;
    return (var && definitions_.contains(var)) || std::ranges::any_of(term.factors, is_division);
  });
}

// A quotient and its remainder ask for the same sum.
const Poly& Simplifier::merged_of(const Expr& e) {
  const Poly& p = poly(e);
  if (!may_merge(p)) return p;
  if (const auto* known = memory_.merged.find(e)) return **known;
  return *memory_.merged.add(e, std::make_unique<const Poly>(merged(p)));
}

const Poly& Simplifier::merged(const Poly& p, std::optional<Poly>& own) {
  return may_merge(p) ? own.emplace(merged(p)) : p;
}

Poly Simplifier::merged_pairs(Poly p) {
  // k * (x % b) + k * b * (x // b)  ->  k * x, or k * x - k * b * (x // b)  ->  k * (x % b)
  auto before = effort(p);
  const auto smaller = [&](const Term& term, size_t at) -> std::optional<Poly> {
    const Expr& part = term.factors[at];
    const Binary* quotient = binary_of(part, BinaryOp::floordiv);
    if (quotient ? p.terms.size() < 2 : !binary_of(part, BinaryOp::floormod)) return {};
    const auto times = times_of(term, at, quotient ? poly(quotient->b) : Poly(1));
    if (!times) return {};
    const Poly& zero = zero_of(part);
    if (!zero.valid) return {};
    Poly candidate = algebra_.add(p, algebra_.multiply(algebra_.of_term(*times), zero));
    if (!candidate.valid || effort(candidate) >= before) return {};
    return candidate;
  };
  for (bool again = p.valid; again;) {
    again = false;
    for (size_t i = 0; i < p.terms.size() && !again; ++i) {
      for (size_t k = 0; k < p.terms[i].factors.size() && !again; ++k) {
        if (auto candidate = smaller(p.terms[i], k)) {
          p = std::move(*candidate);
          before = effort(p);
          again = true;
        }
      }
    }
  }
  return p;
}

Poly Simplifier::floordiv(const Poly& p, int64_t by) {
  if (by == 0) return Poly(0);
  if (by == 1 || !p.valid) return p;
  if (p.is_constant()) return Poly(floor_div(p.constant, by));
  if (by == minus_infinity) return atom(binary(BinaryOp::floordiv, finish(p), index(by)));
  if (by < 0) return floordiv(algebra_.scale(p, -1), -by);
  // What divides comes out.
  Poly quotient(floor_div(p.constant, by)), rest(floor_mod(p.constant, by));
  for (const Term& term : p.terms) {
    if (term.coefficient % by == 0) {
      quotient.terms.push_back({term.factors, term.coefficient / by});
    } else {
      rest.terms.push_back(term);
    }
  }
  rest = merged(std::move(rest));
  const Range r = range(rest);
  if (!quotient.terms.empty() && leaves_32_bits(r))
    return atom(binary(BinaryOp::floordiv, finish(p), index(by)));
  if (within_block(r, by)) return algebra_.add(quotient, Poly(floor_div(r.low, by)));
  // (g * s + b) // (g * m) -> s // m where b stays within one block of g.
  std::vector<int64_t> blocks;
  for (const Term& term : rest.terms) {
    if (int64_t g = gcd(by, multiple_of(term)); g > 1) blocks.push_back(g);
  }
  std::sort(blocks.begin(), blocks.end(), std::greater<>());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (int64_t g : blocks) {
    Poly s, b(rest.constant);
    for (const Term& term : rest.terms) {
      if (term.coefficient % g == 0) {
        s.terms.push_back({term.factors, term.coefficient / g});
      } else {
        b.terms.push_back(term);
      }
    }
    if (b.terms.size() == rest.terms.size()) {
      // Multiples that no coefficient shows: the sum of the others must not carry into the next
      // block of `by`.
      Poly known, others(rest.constant);
      for (const Term& term : rest.terms) {
        (multiple_of(term) % g == 0 ? known : others).terms.push_back(term);
      }
      const Range o = range(others);
      if (finite(o) && o.low >= 0 && o.high < g &&
          !(others.terms.empty() && others.constant == 0)) {
        return algebra_.add(quotient, floordiv(known, by));
      }
      continue;
    }
    const Range low_part = range(b);
    if (!within_block(low_part, g)) continue;
    s.constant = floor_div(low_part.low, g);
    return algebra_.add(quotient, floordiv(s, by / g));
  }
  if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 &&
      rest.terms[0].factors.size() == 1) {
    const Expr& inner = rest.terms[0].factors[0];
    if (auto* nested = binary_of(inner, BinaryOp::floordiv)) {
      // (x // d + k) // by -> (x + k * d) // (d * by)
      const Poly d = poly(nested->b), both = algebra_.scale(d, by);
      if (both.valid && positive(d)) {
        Poly x = algebra_.add(poly(nested->a), d, rest.constant);
        if (x.valid) return algebra_.add(quotient, floordiv(x, both));
      }
    } else if (auto* mod = binary_of(inner, BinaryOp::floormod); mod && rest.constant == 0) {
      // (x % (by * m)) // by -> (x // by) % m
      auto d = as_int(mod->b);
      if (d && *d > 0 && *d % by == 0) {
        return algebra_.add(quotient, floormod(floordiv(poly(mod->a), by), *d / by));
      }
    }
  }
  return algebra_.add(quotient, atom(binary(BinaryOp::floordiv, finish(rest), index(by))));
}

Poly Simplifier::floormod(const Poly& p, int64_t by) {
  if (by == 0 || by == 1) return Poly(0);
  if (!p.valid) return p;
  if (p.is_constant()) return Poly(floor_mod(p.constant, by));
  if (by < 0) return atom(binary(BinaryOp::floormod, finish(p), index(by)));
  if (const Range r = range(p); within_block(r, by)) {
    const int64_t block = floor_div(r.low, by);
    Poly inside = algebra_.add(p, Poly(block), -by);
    if (inside.valid) return inside;
  }
  // Coefficients stay as they are, so that x // c and x % c share x; reduced ones only serve to
  // show the range.
  Poly rest(floor_mod(p.constant, by)), reduced(rest.constant);
  for (const Term& term : p.terms) {
    if (multiple_of(term) % by == 0) continue;
    if (term.factors.size() == 1) {
      // c * (y % d) and c * y differ by a multiple of `by` where it divides c * d.
      auto* nested = binary_of(term.factors[0], BinaryOp::floormod);
      auto d = nested ? as_int(nested->b) : std::nullopt;
      int64_t step;
      if (d && *d > 0 && !__builtin_mul_overflow(*d, term.coefficient, &step) && step % by == 0) {
        Poly same = algebra_.add(p, algebra_.of_term(term), -1);
        same = algebra_.add(same, poly(nested->a), term.coefficient);
        if (same.valid && !leaves_32_bits(range(same))) return floormod(same, by);
      }
    }
    const int64_t c = term.coefficient;
    rest.terms.push_back(term);
    reduced.terms.push_back({term.factors, c > -by && c < by ? c : floor_mod(c, by)});
  }
  rest = merged(std::move(rest));
  if (rest.terms.size() == 1 && !finite(range(rest)) && is_rest(rest, Poly(by))) return rest;
  if (rest.terms.size() < p.terms.size() && leaves_32_bits(range(rest)))
    return atom(binary(BinaryOp::floormod, finish(p), index(by)));
  for (const Poly* candidate : {&rest, &reduced}) {
    const Range r = range(*candidate);
    if (within_block(r, by)) return algebra_.add(*candidate, Poly(floor_div(r.low, by)), -by);
  }
  // (g * s + b) % (g * m) -> g * (s % m) + b where b stays within one block of g.
  std::vector<int64_t> blocks;
  for (const Term& term : rest.terms) {
    if (int64_t g = gcd(by, term.coefficient); g > 1) blocks.push_back(g);
  }
  std::sort(blocks.begin(), blocks.end(), std::greater<>());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (int64_t g : blocks) {
    Poly s, b(rest.constant);
    for (const Term& term : rest.terms) {
      if (term.coefficient % g == 0) {
        s.terms.push_back({term.factors, term.coefficient / g});
      } else {
        b.terms.push_back(term);
      }
    }
    const Range low_part = range(b);
    if (!within_block(low_part, g)) continue;
    const int64_t carry = floor_div(low_part.low, g);
    s.constant = carry;
    const Poly high = algebra_.scale(floormod(s, by / g), g);
    return algebra_.add(algebra_.add(high, b), Poly(carry), -g);
  }
  return atom(binary(BinaryOp::floormod, finish(rest), index(by)));
}

// Also with what only expressions know: loops of symbolic extent and conditions that hold here.
bool Simplifier::not_negative(const Poly& p, int depth) {
  if (!p.valid) return false;
  if (range(p).low >= 0) return true;
  for (const Poly& fact : facts_) {  // fact < 0: -fact - 1 is not negative
    const Poly rest = algebra_.add(p, fact);
    if (rest.is_constant() && rest.constant >= -1) return true;
  }
  if (depth == 0) return false;
  // Put the worst case for a factor in which the sum is linear: variables of loops, innermost
  // first, then what lies between numbers, then quotients of what lies below an extent.
  for (const Worst kind : {Worst::loop, Worst::number, Worst::quotient}) {
    if (kind != Worst::number && bounds_.extents_.empty()) continue;
    for (auto term = p.terms.rbegin(); term != p.terms.rend(); ++term) {
      if (kind == Worst::number && term->factors.size() < 2) continue;
      for (auto factor = term->factors.rbegin(); factor != term->factors.rend(); ++factor) {
        const auto worst = worst_case(p, *factor, kind);
        if (worst) return not_negative(merged(*worst), depth - 1);
      }
    }
  }
  return false;
}

// `e` is from 0 to this, exclusive, where it is a variable of a loop, or a remainder or quotient of
// one. Not valid: it is none of them.
Poly Simplifier::extent_of(const Expr& e) {
  Poly none;
  none.valid = false;
  if (auto* var = as<VarNode>(e)) {
    const auto known = bounds_.extents_.find(var);
    return known == bounds_.extents_.end() ? none : poly(known->second);
  }
  if (auto* remainder = binary_of(e, BinaryOp::floormod)) {
    const Poly by = poly(remainder->b);
    return positive(by) ? by : none;
  }
  auto* quotient = binary_of(e, BinaryOp::floordiv);
  if (!quotient) return none;
  const Poly whole = extent_of(quotient->a), by = poly(quotient->b);
  if (!whole.valid || !by.valid || !positive(by)) return none;
  const Split parts = divide(whole, by);
  return parts.rest.is_constant() && parts.rest.constant == 0 ? parts.quotient : none;
}

// The least value of the sum over what `factor` may be, where the sum is linear in it.
std::optional<Poly> Simplifier::worst_case(const Poly& p, const Expr& factor, Worst kind) {
  Poly low, high;
  if (kind != Worst::number) {
    if ((as<VarNode>(factor) != nullptr) != (kind == Worst::loop)) return {};
    const Poly extent = extent_of(factor);
    if (!extent.valid) return {};
    high = algebra_.add(extent, Poly(-1));
  } else {
    const Range r = ranges_.of(factor);
    if (!finite(r)) return {};
    low = Poly(r.low), high = Poly(r.high);
  }
  Poly slope, rest(p.constant);
  for (const Term& other : p.terms) {
    Term quotient;
    if (!algebra_.divides(Term{{factor}, 1}, other, &quotient)) {
      rest = algebra_.add(rest, algebra_.of_term(other));
    } else if (std::any_of(quotient.factors.begin(), quotient.factors.end(),
                           [&](const Expr& f) { return order_.compare(f, factor) == 0; })) {
      return {};
    } else {
      slope = algebra_.add(slope, algebra_.of_term(quotient));
    }
  }
  if (!slope.valid) return {};
  const Range sign = range(slope);
  if (sign.low < 0 && sign.high > 0) return {};
  return algebra_.add(rest, algebra_.multiply(slope, sign.low >= 0 ? low : high));
}

Expr Simplifier::min_max(BinaryOp op, const Expr& a, const Expr& b) {
  const Poly &x = merged_of(a), &y = merged_of(b);
  const Poly difference = merged(algebra_.add(x, y, -1));
  if (difference.valid) {
    const bool is_min = op == BinaryOp::min;
    if (not_negative(difference)) return finish(is_min ? y : x);
    if (not_negative(algebra_.scale(difference, -1))) return finish(is_min ? x : y);
  }
  Expr left = finish(x), right = finish(y);
  if (as<IntImm>(left) || (!as<IntImm>(right) && order_.compare(right, left) < 0)) {
    std::swap(left, right);
  }
  // The identity of a reduction.
  const int64_t limit = op == BinaryOp::min ? plus_infinity : minus_infinity;
  if (const auto* number = as<IntImm>(right); number && number->value == limit) return left;
  // min(min(x, 3), 5) -> min(x, 3)
  if (auto* inner = binary_of(left, op); inner && as<IntImm>(right) && as<IntImm>(inner->b)) {
    return canonical(binary(op, inner->a, binary(op, inner->b, right)));
  }
  return canonical(binary(op, left, right));
}

}  // namespace gossamer::ir
