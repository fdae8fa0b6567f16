// Comparisons of index expressions and boolean algebra.
#include <algorithm>

#include "ir/build.h"
#include "ir/scalar.h"
#include "ir/simplifier.h"

namespace gossamer::ir {
namespace {

// The operands of a chain of one operation, left to right.
void flatten(BinaryOp op, const Expr& e, std::vector<Expr>& out) {
  std::vector<Expr> stack{e};
  while (!stack.empty()) {
    Expr top = std::move(stack.back());
    stack.pop_back();
    auto* b = as<Binary>(top);
    if (b && b->op == op) {
      stack.push_back(b->b);
      stack.push_back(b->a);
    } else {
      out.push_back(std::move(top));
    }
  }
}

std::optional<BinaryOp> opposite(BinaryOp op) {
  switch (op) {
    case BinaryOp::eq:
      return BinaryOp::ne;
    case BinaryOp::ne:
      return BinaryOp::eq;
    case BinaryOp::lt:
      return BinaryOp::ge;
    case BinaryOp::ge:
      return BinaryOp::lt;
    case BinaryOp::le:
      return BinaryOp::gt;
    case BinaryOp::gt:
      return BinaryOp::le;
    default:
      return std::nullopt;
  }
}

constexpr size_t most_pairs = 12;  // operands of one chain that are compared with each other

}  // namespace

Expr Simplifier::compare(BinaryOp op, const Expr& a, const Expr& b) {
  if (a->type == Type(DType::index)) {
    const Poly x = poly(a), y = poly(b);
    Poly below = algebra_.add(x, y, -1);  // a < b as below < 0
    if (!below.valid) return canonical(binary(op, expr(a), expr(b)));
    const Poly above = algebra_.scale(below, -1);
    switch (op) {
      case BinaryOp::eq:
        return equal_to_zero(below, false);
      case BinaryOp::ne:
        return equal_to_zero(below, true);
      case BinaryOp::lt:
        return less_than_zero(below);
      case BinaryOp::le:
        return less_than_zero(algebra_.add(below, Poly(-1)));
      case BinaryOp::gt:
        return less_than_zero(above);
      default:
        return less_than_zero(algebra_.add(above, Poly(-1)));
    }
  }
  Expr left = expr(a), right = expr(b);
  const DType dtype = a->type.dtype;
  if (dtype == DType::i64 || dtype == DType::i32) {
    Expr x = as_index(left), y = as_index(right);
    if (x.get() && y.get()) return expr(binary(op, x, y));
  }
  if (dtype == DType::boolean) {
    for (int round = 0; round < 2; ++round, std::swap(left, right)) {
      auto value = as_int(right);
      if (!value || (op != BinaryOp::eq && op != BinaryOp::ne)) continue;
      return (op == BinaryOp::eq) == (*value != 0) ? left : negation(left);
    }
  }
  if (!is_float(dtype)) {
    const Range x = ranges_.of(left), y = ranges_.of(right);
    const bool same = order_.compare(left, right) == 0;
    const bool is_signed = !is_unsigned_int(dtype) || (x.low >= 0 && y.low >= 0);
    auto answer = [&](bool yes, bool no) -> Expr {
      if (is_signed && yes) return boolean(true);
      if (is_signed && no) return boolean(false);
      return {};
    };
    Expr known;
    switch (op) {
      case BinaryOp::lt:
        known = answer(x.high < y.low, same || x.low >= y.high);
        break;
      case BinaryOp::le:
        known = answer(same || x.high <= y.low, x.low > y.high);
        break;
      case BinaryOp::gt:
        known = answer(x.low > y.high, same || x.high <= y.low);
        break;
      case BinaryOp::ge:
        known = answer(same || x.low >= y.high, x.high < y.low);
        break;
      case BinaryOp::eq:
        known = answer(same, x.high < y.low || y.high < x.low);
        break;
      default:
        known = answer(x.high < y.low || y.high < x.low, same);
        break;
    }
    if (known && left->type.is_scalar()) return known;
  }
  return canonical(binary(op, left, right));
}

// g * s + r < 0  ->  s + m < 0 where m * g <= r < (m + 1) * g, as of vectors that lie on one side
// of a bound as a whole.
std::optional<Poly> Simplifier::without_remainder(const Poly& p) {
  for (const Term& divisor : p.terms) {
    const int64_t g = std::abs(divisor.coefficient);
    if (g == 1) continue;
    Poly quotient, rest(p.constant);
    for (const Term& term : p.terms) {
      const bool divides = term.coefficient % g == 0;
      Poly& side = divides ? quotient : rest;
      side.terms.push_back(term);
      if (divides) side.terms.back().coefficient /= g;
    }
    if (rest.terms.empty()) continue;
    const Range r = range(rest);
    if (r.low == Range{}.low || r.high == Range{}.high) continue;
    if (floor_div(r.low, g) != floor_div(r.high, g)) continue;
    quotient.constant = floor_div(r.low, g);
    return quotient;
  }
  return std::nullopt;
}

Expr Simplifier::less_than_zero(Poly p) {
  p = merged(std::move(p));
  if (!p.valid) return {};
  const Range r = range(p);
  if (r.high < 0) return boolean(true);
  if (r.low >= 0) return boolean(false);
  if (not_negative(p)) return boolean(false);
  if (not_negative(algebra_.add(Poly(-1), p, -1))) return boolean(true);
  // g * s + k < 0  ->  s < ceil(-k / g)
  int64_t g = 0;
  for (const Term& term : p.terms) g = gcd(g, term.coefficient);
  if (g > 1) {
    for (Term& term : p.terms) term.coefficient /= g;
    p.constant = -floor_div(-p.constant, g) - (floor_mod(-p.constant, g) != 0);
  }
  if (std::optional<Poly> coarse = without_remainder(p)) return less_than_zero(*std::move(coarse));
  // x // d < c  ->  x < c * d, and x // d >= c  ->  x >= c * d
  if (p.terms.size() == 1 && p.terms[0].factors.size() == 1) {
    auto* quotient = as<Binary>(p.terms[0].factors[0]);
    auto d = quotient && quotient->op == BinaryOp::floordiv ? as_int(quotient->b) : std::nullopt;
    const int64_t sign = p.terms[0].coefficient;
    if (d && *d > 0 && (sign == 1 || sign == -1)) {
      // sign 1: q < -k; sign -1: -q + k < 0, q >= k + 1
      int64_t edge;
      const int64_t c = sign == 1 ? -p.constant : p.constant + 1;
      if (!__builtin_mul_overflow(c, *d, &edge)) {
        Poly x = poly(quotient->a);
        return sign == 1 ? less_than_zero(algebra_.add(x, Poly(edge), -1))
                         : less_than_zero(algebra_.add(Poly(edge - 1), x, -1));
      }
    }
  }
  Poly left, right;  // left < right
  for (const Term& term : p.terms) {
    Poly& side = term.coefficient > 0 ? left : right;
    side.terms.push_back(term);
    if (term.coefficient < 0) side.terms.back().coefficient = -term.coefficient;
  }
  Expr result;
  if (left.terms.empty()) {
    // k < x is x >= k + 1
    result = binary(BinaryOp::ge, finish(right), index(p.constant + 1));
  } else if (!right.terms.empty() &&
             (leaves_32_bits(range(left)) || leaves_32_bits(range(right)))) {
    const int64_t limit = -p.constant;
    p.constant = 0;
    result = binary(BinaryOp::lt, finish(p), index(limit));
  } else {
    if (right.terms.empty() || p.constant < 0) {
      right.constant = -p.constant;
    } else {
      left.constant = p.constant;
    }
    result = binary(BinaryOp::lt, finish(left), finish(right));
  }
  return canonical(std::move(result));
}

Expr Simplifier::equal_to_zero(Poly p, bool negated) {
  p = merged(std::move(p));
  if (!p.valid) return {};
  if (p.terms.empty()) return boolean((p.constant == 0) != negated);
  const Range r = range(p);
  if (r.low > 0 || r.high < 0) return boolean(negated);
  if (not_negative(algebra_.add(p, Poly(-1))) || not_negative(algebra_.add(Poly(-1), p, -1))) {
    return boolean(negated);
  }
  int64_t shown = 0, g = 0;
  for (const Term& term : p.terms) {
    shown = gcd(shown, term.coefficient);
    g = gcd(g, multiple_of(term));
  }
  GS_CHECK(shown > 0, "a term without a coefficient");
  if (g > 1 && p.constant % g != 0) return boolean(negated);
  if (p.terms[0].coefficient < 0) p = algebra_.scale(p, -1);
  for (Term& term : p.terms) term.coefficient /= shown;
  p.constant /= shown;
  Poly left, right;
  for (const Term& term : p.terms) {
    Poly& side = term.coefficient > 0 ? left : right;
    side.terms.push_back(term);
    if (term.coefficient < 0) side.terms.back().coefficient = -term.coefficient;
  }
  if (right.terms.empty() || p.constant < 0) {
    right.constant = -p.constant;
  } else {
    left.constant = p.constant;
  }
  return canonical(binary(negated ? BinaryOp::ne : BinaryOp::eq, finish(left), finish(right)));
}

bool Simplifier::as_negative(const Expr& condition, Poly* out) {
  auto* b = as<Binary>(condition);
  if (!b || b->a->type != Type(DType::index)) return false;
  const Poly x = poly(b->a), y = poly(b->b);
  switch (b->op) {
    case BinaryOp::lt:
      *out = algebra_.add(x, y, -1);
      break;
    case BinaryOp::le:
      *out = algebra_.add(algebra_.add(x, y, -1), Poly(-1));
      break;
    case BinaryOp::gt:
      *out = algebra_.add(y, x, -1);
      break;
    case BinaryOp::ge:
      *out = algebra_.add(algebra_.add(y, x, -1), Poly(-1));
      break;
    default:
      return false;
  }
  return out->valid;
}

Expr Simplifier::logic(BinaryOp op, const Expr& a, const Expr& b) {
  if (op == BinaryOp::logical_xor) {
    Expr x = expr(a), y = expr(b);
    for (int round = 0; round < 2; ++round, std::swap(x, y)) {
      if (auto value = as_int(y)) return *value ? negation(x) : x;
    }
    if (order_.compare(x, y) == 0 && x->type.is_scalar()) return boolean(false);
    return canonical(binary(op, x, y));
  }
  const bool is_and = op == BinaryOp::logical_and;
  std::vector<Expr> parts, kept;
  flatten(op, expr(a), parts);
  flatten(op, expr(b), parts);
  std::vector<Poly> negatives;  // beside `kept`; invalid where a part is no comparison
  for (const Expr& part : parts) {
    if (auto value = as_int(part)) {
      if ((*value != 0) == is_and) continue;
      return boolean(!is_and);
    }
    Poly p;
    if (kept.size() > most_pairs || !as_negative(part, &p)) p.valid = false;
    bool redundant = false;
    for (size_t i = 0; i < kept.size() && kept.size() <= most_pairs && !redundant; ++i) {
      if (order_.compare(kept[i], part) == 0) redundant = true;
      if (auto* u = as<Unary>(part);
          u && u->op == UnaryOp::logical_not && order_.compare(u->a, kept[i]) == 0) {
        return broadcast(boolean(!is_and), part->type.lanes);
      }
      if (!p.valid || !negatives[i].valid) continue;
      const Poly apart = algebra_.add(p, negatives[i], -1);  // part is the other one shifted
      if (apart.is_constant()) {
        // kept + c < 0 says more than kept < 0 where c > 0; a conjunction keeps what says more.
        if ((apart.constant > 0) == is_and) {
          kept[i] = part;
          negatives[i] = p;
        }
        redundant = true;
      }
      const Poly sum = algebra_.add(p, negatives[i]);
      if (!redundant && sum.is_constant()) {
        // Both below 0: their sum is at most -2. Neither: at least 0.
        if (is_and && sum.constant > -2) return boolean(false);
        if (!is_and && sum.constant < 0) return boolean(true);
      }
    }
    if (redundant) continue;
    kept.push_back(part);
    negatives.push_back(std::move(p));
  }
  if (kept.empty()) return boolean(is_and);
  Expr result = kept[0];
  for (size_t i = 1; i < kept.size(); ++i) result = binary(op, result, kept[i]);
  return canonical(std::move(result));
}

Expr Simplifier::negation(const Expr& a) {
  if (auto value = as_int(a)) return boolean(!*value);
  if (auto* u = as<Unary>(a); u && u->op == UnaryOp::logical_not) return expr(u->a);
  if (auto* b = as<Binary>(a)) {
    auto flipped = opposite(b->op);
    // With NaN only == and != are each other's opposite.
    const bool ordered = !is_float(b->a->type.dtype);
    if (flipped && (ordered || b->op == BinaryOp::eq || b->op == BinaryOp::ne)) {
      return a->type.is_scalar() ? compare(*flipped, b->a, b->b)
                                 : canonical(binary(*flipped, b->a, b->b));
    }
    if (a->type.is_scalar() && b->op == BinaryOp::logical_and) {
      return logic(BinaryOp::logical_or, negation(b->a), negation(b->b));
    }
    if (a->type.is_scalar() && b->op == BinaryOp::logical_or) {
      return logic(BinaryOp::logical_and, negation(b->a), negation(b->b));
    }
  }
  return canonical(unary(UnaryOp::logical_not, a));
}

void Simplifier::assume(const Expr& condition, bool holds) {
  std::vector<Expr> parts;
  if (holds) {
    flatten(BinaryOp::logical_and, condition, parts);
  } else {
    flatten(BinaryOp::logical_or, condition, parts);
    for (Expr& part : parts) part = negation(part);
  }
  for (const Expr& part : parts) {
    auto* b = as<Binary>(part);
    if (b && b->op == BinaryOp::eq && b->a->type == Type(DType::index)) {
      // x == y is x - y < 1 and y - x < 1.
      const Poly difference = algebra_.add(poly(b->a), poly(b->b), -1);
      if (!difference.valid) continue;
      facts_.push_back(algebra_.add(difference, Poly(-1)));
      facts_.push_back(algebra_.add(Poly(-1), difference, -1));
      auto* var = as<VarNode>(b->a);
      if (auto value = as_int(b->b); var && value) bounds_.ranges_[var] = exactly(*value);
      continue;
    }
    Poly p;
    if (!as_negative(part, &p)) continue;
    facts_.push_back(p);
    if (p.terms.size() != 1 || p.terms[0].factors.size() != 1) continue;
    auto* var = as<VarNode>(p.terms[0].factors[0]);
    const int64_t c = p.terms[0].coefficient;
    if (!var || (c != 1 && c != -1)) continue;
    Range range = ranges_.of(p.terms[0].factors[0]);
    // v + k < 0: v <= -k - 1; k - v < 0: v >= k + 1
    range = intersect(range, c == 1 ? Range{minus_infinity, -p.constant - 1}
                                    : Range{p.constant + 1, plus_infinity});
    bounds_.ranges_[var] = range;
  }
}

}  // namespace gossamer::ir
