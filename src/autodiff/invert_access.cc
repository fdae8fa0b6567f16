#include "autodiff/invert_access.h"

#include <algorithm>
#include <cstdlib>

#include "ir/build.h"

namespace gossamer::autodiff {
namespace {

constexpr int64_t unknown_extent = int64_t{1} << 20;  // counts as long
constexpr int most_splits = 16;

void set_bounds(ir::Bounds& bounds, const Var& var, const Expr& extent) {
  const auto known = ir::as_int(extent);
  const int64_t high = known ? *known - 1 : std::numeric_limits<int64_t>::max();
  bounds.set(var.get(), {0, std::max<int64_t>(high, 0)});
  if (!known) bounds.set_extent(var.get(), extent);
}

// A sum of unknowns times coefficients that have none of them, and what is beside it.
struct Linear {
  struct Term {
    Var unknown;
    Expr coefficient;
  };
  std::vector<Term> terms;
  Expr rest = ir::index(0);
};

struct Equation {
  Expr left;   // over the unknowns
  Expr right;  // over elements and what remains
};

class Solver {
 public:
  Solver(const Domain& domain, const ir::Bounds& bounds, bool exact) : exact_(exact) {
    made_.bounds = bounds;
    for (size_t i = 0; i < domain.axes.size(); ++i) {
      add_unknown(domain.axes[i], domain.extents[i]);
      made_.axes[domain.axes[i].get()] = domain.axes[i];
    }
  }

  std::optional<Inverse> run(const std::vector<Expr>& indices, const std::vector<Expr>& shape) {
    for (size_t k = 0; k < indices.size(); ++k) {
      Expr place = ir::index(0);
      if (!ir::is_const(shape[k], 1)) {
        const Var var = ir::var(cat("p", k));
        bound(var, shape[k]);
        place = var;
      }
      made_.element.push_back(place);
      equations_.push_back({simplified(indices[k]), place});
    }
    if (!split_quotients()) return std::nullopt;
    while (!equations_.empty()) {
      if (!solve_next()) return std::nullopt;
    }
    finish();
    return std::move(made_);
  }

 private:
  struct Unknown {
    Var var;
    Expr extent;
  };

  Expr simplified(const Expr& e) const { return ir::simplify(e, made_.bounds); }

  void bound(const Var& var, const Expr& extent) { set_bounds(made_.bounds, var, extent); }

  Var add_unknown(Var var, const Expr& extent) {
    bound(var, extent);
    unknowns_.push_back({var, extent});
    return var;
  }
  Var fresh(const Expr& extent) { return add_unknown(ir::var(cat("q", fresh_++)), extent); }

  const Unknown* find(const Expr& e) const {
    const auto found = std::ranges::find_if(
        unknowns_, [&](const Unknown& one) { return one.var.get() == e.get(); });
    return found == unknowns_.end() ? nullptr : &*found;
  }
  bool has_unknown(const Expr& e) const {
    return std::ranges::any_of(unknowns_,
                               [&](const Unknown& one) { return ir::uses(e, one.var.get()); });
  }

  // An unknown is `value` everywhere. `value` is within its extent, or a guard says where.
  void replace(const Var& unknown, const Expr& value) {
    const ir::VarNode* key = unknown.get();
    const ir::VarMap map{{key, value}};
    for (auto& [axis, expr] : made_.axes) expr = simplified(ir::substitute(expr, map));
    for (Expr& guard : made_.guards) guard = simplified(ir::substitute(guard, map));
    for (Equation& one : equations_) {
      one.left = simplified(ir::substitute(one.left, map));
      one.right = simplified(ir::substitute(one.right, map));
    }
    std::erase_if(unknowns_, [&](const Unknown& one) { return one.var.get() == key; });
  }

  void guard(const Expr& condition) {
    const Expr simple = simplified(condition);
    if (!ir::is_const(simple, 1)) made_.guards.push_back(simple);
  }

  // Solves an unknown, whose value may leave its extent.
  void settle(const Unknown& unknown, const Expr& value) {
    const Expr simple = simplified(value);
    guard(simple >= ir::index(0));
    if (!ir::prove(simple < unknown.extent, made_.bounds)) guard(simple < unknown.extent);
    replace(unknown.var, simple);
  }

  // unknown = by * high + low, where 0 <= low < by.
  void split(const Unknown& unknown, const Expr& shift, int64_t by) {
    const Var var = unknown.var;  // new ones move the list
    const Expr extent = unknown.extent;
    const Expr first = simplified(ir::floordiv(shift, by));
    const Expr count =
        simplified(ir::floordiv(shift + extent - ir::index(1), by) - first + ir::index(1));
    const Var high = fresh(count), low = fresh(ir::index(by));
    const Expr value = simplified((first + Expr(high)) * ir::index(by) + Expr(low) - shift);
    if (!ir::prove(value >= ir::index(0), made_.bounds)) guard(value >= ir::index(0));
    const bool whole =
        ir::is_const(shift, 0) && ir::is_const(simplified(ir::floormod(extent, by)), 0);
    if (!whole) guard(value < extent);
    replace(var, value);
  }

  // Quotients and remainders of an unknown (plus something) by a number become unknowns.
  bool split_quotients() {
    for (int i = 0; i < most_splits; ++i) {
      const Unknown* unknown = nullptr;
      Expr shift;
      int64_t by = 0;
      bool readable = true;
      const auto look = [&](const Expr& e) {
        const auto* node = ir::as<ir::Binary>(e);
        if (!node || (node->op != ir::BinaryOp::floordiv && node->op != ir::BinaryOp::floormod) ||
            !has_unknown(e))
          return true;
        const auto divisor = ir::as_int(node->b);
        const auto sum = linear(node->a);
        if (!divisor || *divisor < 2 || !sum || sum->terms.size() != 1 ||
            !ir::is_const(sum->terms[0].coefficient, 1)) {
          // Its operands may have others, which are replaced first.
          readable = false;
          return true;
        }
        if (!unknown || *divisor < by) {
          unknown = find(sum->terms[0].unknown);
          shift = sum->rest;
          by = *divisor;
        }
        return false;
      };
      for (const Equation& one : equations_) ir::visit(one.left, look);
      if (!unknown) return readable;
      split(*unknown, shift, by);
    }
    return false;
  }

  // Null where it is no such sum.
  std::optional<Linear> linear(const Expr& e) const {
    Linear made;
    if (!collect(e, ir::index(1), made)) return std::nullopt;
    for (Linear::Term& term : made.terms) term.coefficient = simplified(term.coefficient);
    std::erase_if(made.terms,
                  [](const Linear::Term& term) { return ir::is_const(term.coefficient, 0); });
    made.rest = simplified(made.rest);
    return made;
  }
  bool collect(const Expr& e, const Expr& scale, Linear& made) const {
    if (!has_unknown(e)) {
      made.rest = made.rest + e * scale;
      return true;
    }
    if (const Unknown* unknown = find(e)) {
      const auto same = [&](const Linear::Term& term) { return term.unknown.same(unknown->var); };
      const auto found = std::ranges::find_if(made.terms, same);
      if (found == made.terms.end()) {
        made.terms.push_back({unknown->var, scale});
      } else {
        found->coefficient = found->coefficient + scale;
      }
      return true;
    }
    const auto* node = ir::as<ir::Binary>(e);
    if (!node) return false;
    if (node->op == ir::BinaryOp::add)
      return collect(node->a, scale, made) && collect(node->b, scale, made);
    if (node->op == ir::BinaryOp::sub)
      return collect(node->a, scale, made) && collect(node->b, ir::index(0) - scale, made);
    if (node->op != ir::BinaryOp::mul) return false;
    if (!has_unknown(node->b)) return collect(node->a, scale * node->b, made);
    return !has_unknown(node->a) && collect(node->b, scale * node->a, made);
  }

  // The equation with the fewest unknowns: what it solves may settle others.
  bool solve_next() {
    size_t best = 0, fewest = ~size_t{0};
    std::optional<Linear> sum;
    for (size_t i = 0; i < equations_.size(); ++i) {
      auto one = linear(equations_[i].left);
      if (!one) return false;
      if (one->terms.size() >= fewest) continue;
      fewest = one->terms.size();
      best = i;
      sum = std::move(one);
    }
    const Expr target = simplified(equations_[best].right - sum->rest);
    equations_.erase(equations_.begin() + static_cast<std::ptrdiff_t>(best));
    return solve(*sum, target);
  }

  // The sum's terms make `target`.
  bool solve(Linear sum, const Expr& target) {
    if (sum.terms.empty()) {
      if (!ir::prove_equal(target, ir::index(0), made_.bounds)) guard(target == ir::index(0));
      return true;
    }
    // Terms that count down are turned round.
    for (const Linear::Term& term : sum.terms) {
      const auto number = ir::as_int(term.coefficient);
      if (!number || *number > 0) continue;
      const Unknown one = *find(term.unknown);
      const Var turned = fresh(one.extent);
      const Expr value = one.extent - ir::index(1) - Expr(turned);
      const Expr left = left_of(sum) - target;
      equations_.push_back({left, ir::index(0)});
      replace(one.var, simplified(value));
      return true;
    }
    if (sum.terms.size() == 1) return solve_one(sum.terms[0], target);
    return divide(sum, target) || solve_longest(sum, target);
  }

  static Expr left_of(const Linear& sum) {
    Expr left = ir::index(0);
    for (const Linear::Term& term : sum.terms) left = left + Expr(term.unknown) * term.coefficient;
    return left;
  }

  bool solve_one(const Linear::Term& term, const Expr& target) {
    const Unknown one = *find(term.unknown);
    if (ir::is_const(term.coefficient, 1)) {
      settle(one, target);
      return true;
    }
    if (!ir::prove(term.coefficient >= ir::index(1), made_.bounds)) return false;
    guard(ir::floormod(target, term.coefficient) == ir::index(0));
    settle(one, ir::floordiv(target, term.coefficient));
    return true;
  }

  // Digits: where all terms but those of the largest coefficient stay below it, these are the
  // quotient by it and the others the remainder. Terms that reach beyond it are split.
  bool divide(const Linear& sum, const Expr& target) {
    const Linear::Term* symbolic = nullptr;
    int64_t largest = 1;
    for (const Linear::Term& term : sum.terms) {
      const auto number = ir::as_int(term.coefficient);
      if (number) {
        largest = std::max(largest, *number);
      } else {
        if (symbolic) return false;
        symbolic = &term;
      }
    }
    if (symbolic) return divide_symbolic(sum, *symbolic, target);
    if (largest == 1) return false;
    Linear high, low;
    for (const Linear::Term& term : sum.terms) {
      const int64_t coefficient = *ir::as_int(term.coefficient);
      (coefficient == largest ? high : low).terms.push_back(term);
    }
    const Expr rest = simplified(left_of(low));
    if (!low.terms.empty() && made_.bounds.of(rest).high < largest) {
      add_digits(high, low, ir::index(largest), target);
      return true;
    }
    for (const Linear::Term& term : low.terms) {
      const int64_t coefficient = *ir::as_int(term.coefficient);
      if (!exact_ || largest % coefficient != 0 || splits_ >= most_splits) continue;
      const int64_t by = largest / coefficient;
      const Unknown one = *find(term.unknown);
      const auto extent = ir::as_int(one.extent);
      if (extent && *extent <= by) continue;
      ++splits_;
      equations_.push_back({left_of(sum), target});
      split(one, ir::index(0), by);
      return true;
    }
    return false;
  }

  void add_digits(Linear& high, const Linear& low, const Expr& base, const Expr& target) {
    for (Linear::Term& term : high.terms) term.coefficient = ir::index(1);
    const Expr quotient = left_of(high), remainder = left_of(low);
    equations_.push_back({quotient, simplified(ir::floordiv(target, base))});
    equations_.push_back({remainder, simplified(ir::floormod(target, base))});
  }

  // i * W + j where j < W.
  bool divide_symbolic(const Linear& sum, const Linear::Term& largest, const Expr& target) {
    Linear high, low;
    high.terms.push_back(largest);
    for (const Linear::Term& term : sum.terms) {
      if (!term.unknown.same(largest.unknown)) low.terms.push_back(term);
    }
    if (low.terms.size() != 1 || !ir::is_const(low.terms[0].coefficient, 1) ||
        !ir::prove_equal(find(low.terms[0].unknown)->extent, largest.coefficient, made_.bounds))
      return false;
    add_digits(high, low, largest.coefficient, target);
    return true;
  }

  // The longest axis follows from the others, which remain: the window of a convolution.
  bool solve_longest(const Linear& sum, const Expr& target) {
    const auto length = [&](const Linear::Term& term) {
      return ir::as_int(find(term.unknown)->extent).value_or(unknown_extent);
    };
    size_t best = 0;
    for (size_t i = 1; i < sum.terms.size(); ++i) {
      if (length(sum.terms[i]) > length(sum.terms[best])) best = i;
    }
    Linear others;
    for (size_t i = 0; i < sum.terms.size(); ++i) {
      if (i != best) others.terms.push_back(sum.terms[i]);
    }
    return solve_one(sum.terms[best], simplified(target - left_of(others)));
  }

  // What is not solved is walked over.
  void finish() {
    for (const Unknown& one : unknowns_) {
      made_.rest.axes.push_back(one.var);
      made_.rest.extents.push_back(one.extent);
    }
    std::vector<Expr> guards;
    for (const Expr& one : made_.guards) {
      const Expr simple = simplified(one);
      const auto same = [&](const Expr& other) { return ir::equal(other, simple); };
      if (!ir::is_const(simple, 1) && std::ranges::none_of(guards, same)) guards.push_back(simple);
    }
    made_.guards = std::move(guards);
  }

  Inverse made_;
  bool exact_;
  std::vector<Unknown> unknowns_;
  std::vector<Equation> equations_;
  int fresh_ = 0, splits_ = 0;
};

}  // namespace

ir::Bounds with_axes(ir::Bounds bounds, const Domain& domain) {
  for (size_t i = 0; i < domain.axes.size(); ++i)
    set_bounds(bounds, domain.axes[i], domain.extents[i]);
  return bounds;
}

std::optional<Inverse> invert(const std::vector<Expr>& indices, const std::vector<Expr>& shape,
                              const Domain& domain, const ir::Bounds& bounds, bool exact) {
  return Solver(domain, bounds, exact).run(indices, shape);
}

}  // namespace gossamer::autodiff
