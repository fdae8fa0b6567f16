#include "ops/reshape_index.h"

#include <numeric>

#include "ir/build.h"

namespace gossamer::ops {
namespace {

// One group: from[from_begin, from_end) and to[to_begin, to_end) have the same number of points.
void map_group(const std::vector<Expr>& from, size_t from_begin, size_t from_end,
               const std::vector<Expr>& to, size_t to_begin, size_t to_end,
               const std::vector<Expr>& point, const ir::Bounds& bounds,
               std::vector<Expr>& result) {
  Expr linear = ir::index(0);
  for (size_t i = to_begin; i < to_end; ++i) {
    if (!ir::is_const(to[i], 1)) linear = linear * to[i] + point[i];
  }
  linear = ir::simplify(linear, bounds);
  Expr stride = ir::index(1);
  bool first = true;  // the outermost axis that is not 1 needs no modulo
  size_t outermost = from_end;
  for (size_t i = from_begin; i < from_end; ++i) {
    if (!ir::is_const(from[i], 1)) {
      outermost = i;
      break;
    }
  }
  for (size_t i = from_end; i-- > from_begin;) {
    if (ir::is_const(from[i], 1)) {
      result[i] = ir::index(0);
      continue;
    }
    Expr at = first ? linear : ir::floordiv(linear, stride);
    if (i != outermost) at = ir::floormod(at, from[i]);
    result[i] = ir::simplify(at, bounds);
    stride = stride * from[i];
    first = false;
  }
}

std::vector<Expr> factors_of(const std::vector<Expr>& products) {
  std::vector<Expr> all;
  for (const Expr& e : products) {
    const auto* both = ir::as<ir::Binary>(e);
    if (!both || both->op != ir::BinaryOp::mul) {
      all.push_back(e);
      continue;
    }
    for (Expr& factor : factors_of({both->a, both->b})) all.push_back(std::move(factor));
  }
  return all;
}

}  // namespace

Expr product(const std::vector<Expr>& extents) {
  Expr result = ir::index(1);
  for (const Expr& extent : extents) result = result * extent;
  return result;
}

std::vector<Expr> same_position(const std::vector<Expr>& from, const std::vector<Expr>& to,
                                const std::vector<Expr>& point, const ir::Bounds& bounds) {
  std::vector<Expr> result(from.size());
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    size_t f_end = f, t_end = t;
    bool matched = false;
    if (f < from.size() && t < to.size()) {
      Expr left = from[f], right = to[t];
      f_end = f + 1, t_end = t + 1;
      while (true) {
        if (ir::prove_equal(left, right, bounds)) {
          matched = true;
          break;
        }
        auto a = ir::as_int(ir::simplify(left, bounds)),
             b = ir::as_int(ir::simplify(right, bounds));
        // The smaller side grows; between symbolic sides only a whole-tail group is safe.
        if (a && b) {
          if (*a < *b && f_end < from.size()) {
            left = left * from[f_end++];
          } else if (*b < *a && t_end < to.size()) {
            right = right * to[t_end++];
          } else {
            break;
          }
        } else if (a && f_end < from.size()) {
          left = left * from[f_end++];
        } else if (b && t_end < to.size()) {
          right = right * to[t_end++];
        } else if (f_end < from.size()) {
          left = left * from[f_end++];
        } else if (t_end < to.size()) {
          right = right * to[t_end++];
        } else {
          break;
        }
      }
    }
    if (!matched) f_end = from.size(), t_end = to.size();
    map_group(from, f, f_end, to, t, t_end, point, bounds, result);
    f = f_end, t = t_end;
  }
  return result;
}

Expr quotient(std::vector<Expr> numerators, std::vector<Expr> divisors, const ir::Bounds& bounds) {
  numerators = factors_of(numerators);
  divisors = factors_of(divisors);
  for (Expr& divisor : divisors) {
    for (Expr& numerator : numerators) {
      if (!ir::prove_equal(numerator, divisor, bounds)) continue;
      numerator = divisor = ir::index(1);
      break;
    }
  }
  // Constant factors: 3 * 8 * n / (12 * n) -> 2.
  int64_t above = 1, below = 1;
  auto take = [](std::vector<Expr>& factors, int64_t& constant) {
    for (Expr& factor : factors) {
      if (auto known = ir::as_int(factor)) constant *= *known, factor = ir::index(1);
    }
  };
  take(numerators, above);
  take(divisors, below);
  if (below == 0) return ir::index(0);
  int64_t shared = std::gcd(above, below);
  if (shared > 1) above /= shared, below /= shared;
  Expr over = ir::index(above) * product(numerators), under = ir::index(below) * product(divisors);
  return ir::simplify(ir::floordiv(over, under), bounds);
}

}  // namespace gossamer::ops
