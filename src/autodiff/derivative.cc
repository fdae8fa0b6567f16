#include "autodiff/derivative.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::autodiff {

using ir::Binary;
using ir::BinaryOp;
using ir::Cast;
using ir::FloatImm;
using ir::Fma;
using ir::Node;
using ir::NodeKind;
using ir::Select;
using ir::Unary;
using ir::UnaryOp;

using namespace ir;

namespace {

bool is_number(const Expr& e, double value) {
  const auto* number = as<FloatImm>(e);
  return number && number->value == value;
}

bool opposite(const Expr& a, const Expr& b) {
  const auto negates = [](const Expr& x, const Expr& y) {
    const auto* negation = as<Unary>(x);
    return negation && negation->op == UnaryOp::logical_not && equal(negation->a, y);
  };
  return negates(a, b) || negates(b, a);
}

bool same_mask(const Expr& a, const Expr& b) {
  return a.get() && b.get() ? equal(a, b) : a.get() == b.get();
}

// The sum of masked values.
Masked sum(const std::vector<Masked>& parts) {
  if (parts.size() == 1) return parts[0];
  if (parts.size() == 2 && parts[0].mask && parts[1].mask && opposite(parts[0].mask, parts[1].mask))
    return {{}, select(parts[0].mask, parts[0].value, parts[1].value)};
  const bool one_mask = std::ranges::all_of(
      parts, [&](const Masked& part) { return same_mask(part.mask, parts[0].mask); });
  Expr total;
  for (const Masked& part : parts) {
    const Expr value = one_mask ? part.value : unmasked(part);
    total = total ? total + value : value;
  }
  return {one_mask ? parts[0].mask : Expr(), total};
}

class Reverse {
 public:
  explicit Reverse(const std::function<bool(const Expr&)>& wanted) : wanted_(wanted) {}

  std::vector<LeafCotangent> run(const std::vector<Root>& roots) {
    for (const Root& root : roots) {
      if (!depends(root.expr)) continue;
      add(root.expr, root.cotangent);
      if (root.known) known_[root.expr.get()] = root.known;
    }
    for (size_t i = order_.size(); i-- > 0;) {
      const Expr node = order_[i];
      const auto found = parts_.find(node.get());
      if (found == parts_.end()) continue;
      const Masked cotangent = sum(found->second);
      if (is_zero(cotangent.value)) continue;
      if (is_leaf(node)) {
        leaf(node, cotangent);
      } else {
        step(node, cotangent);
      }
    }
    std::ranges::sort(found_, {}, &Found::place);
    std::vector<LeafCotangent> result;
    for (const Found& one : found_) result.push_back({one.leaf, sum(one.parts)});
    return result;
  }

 private:
  struct Found {
    size_t place = 0;
    Expr leaf;
    std::vector<Masked> parts;
  };

  bool is_leaf(const Expr& e) const {
    return (e->kind == NodeKind::Load || e->kind == NodeKind::Var) && wanted_(e);
  }

  // Whether an expression has a derivative by a leaf; those that have stand in order_ behind their
  // operands.
  bool depends(const Expr& e) {
    if (!is_float(e->type.dtype)) return false;
    if (const auto known = depends_.find(e.get()); known != depends_.end()) return known->second;
    bool some = is_leaf(e);
    if (const auto* node = as<Unary>(e)) {
      some = has_slope(node->op) && depends(node->a);
    } else if (const auto* node = as<Binary>(e)) {
      const bool left = depends(node->a), right = depends(node->b);
      some = left || right;
    } else if (const auto* node = as<Fma>(e)) {
      const bool a = depends(node->a), b = depends(node->b), c = depends(node->c);
      some = a || b || c;
    } else if (const auto* node = as<Select>(e)) {
      const bool yes = depends(node->yes), no = depends(node->no);
      some = yes || no;
    } else if (const auto* node = as<Cast>(e)) {
      some = depends(node->a);
    }
    depends_[e.get()] = some;
    if (some) order_.push_back(e);
    return some;
  }

  static bool has_slope(UnaryOp op) {
    return op != UnaryOp::floor && op != UnaryOp::ceil && op != UnaryOp::round &&
           op != UnaryOp::trunc;
  }

  void add(const Expr& node, Masked part) {
    if (depends(node) && !is_zero(part.value)) parts_[node.get()].push_back(std::move(part));
  }

  void leaf(const Expr& node, const Masked& cotangent) {
    const auto place = static_cast<size_t>(
        std::ranges::find_if(order_, [&](const Expr& e) { return equal(e, node); }) -
        order_.begin());
    auto found = std::ranges::find(found_, place, &Found::place);
    if (found == found_.end()) found = found_.insert(found_.end(), {place, node, {}});
    found->parts.push_back(cotangent);
  }

  // The node's own value, by what is cheaper to have.
  Expr value_of(const Expr& node) const {
    const auto found = known_.find(node.get());
    return found == known_.end() ? node : found->second;
  }

  void step(const Expr& e, const Masked& cotangent) {
    const auto to = [&](const Expr& operand, Expr value) {
      add(operand, {cotangent.mask, std::move(value)});
    };
    const Expr& g = cotangent.value;
    if (const auto* node = as<Unary>(e)) {
      to(node->a, of_unary(*node, value_of(e), g));
    } else if (const auto* node = as<Binary>(e)) {
      of_binary(*node, value_of(e), cotangent);
    } else if (const auto* node = as<Fma>(e)) {
      to(node->a, times(g, node->b));
      to(node->b, times(g, node->a));
      to(node->c, g);
    } else if (const auto* node = as<Select>(e)) {
      add(node->yes, {conjunction(cotangent.mask, node->condition), g});
      add(node->no, {conjunction(cotangent.mask, !node->condition), g});
    } else if (const auto* node = as<Cast>(e)) {
      to(node->a, cast(node->a->type, g));
    }
  }

  static Expr of_unary(const Unary& node, const Expr& value, const Expr& g) {
    const Expr& a = node.a;
    const auto one = [&] { return constant(a->type, 1); };
    switch (node.op) {
      case UnaryOp::neg:
        return negated(g);
      case UnaryOp::abs:
        return select(a > 0.0, g, select(a < 0.0, negated(g), zero(a->type)));
      case UnaryOp::sqrt:
        return g / (value * 2.0);
      case UnaryOp::exp:
        return times(g, value);
      case UnaryOp::log:
        return g / a;
      case UnaryOp::sin:
        return times(g, cos(a));
      case UnaryOp::cos:
        return negated(times(g, sin(a)));
      case UnaryOp::tan:
        return times(g, one() + value * value);
      case UnaryOp::asin:
        return g / sqrt(one() - a * a);
      case UnaryOp::acos:
        return negated(g / sqrt(one() - a * a));
      case UnaryOp::atan:
        return g / (one() + a * a);
      case UnaryOp::sinh:
        return times(g, cosh(a));
      case UnaryOp::cosh:
        return times(g, sinh(a));
      case UnaryOp::tanh:
        return times(g, one() - value * value);
      case UnaryOp::asinh:
        return g / sqrt(a * a + 1.0);
      case UnaryOp::acosh:
        return g / sqrt(a * a - 1.0);
      case UnaryOp::atanh:
        return g / (one() - a * a);
      case UnaryOp::erf:
        return times(g, exp(negated(a * a)) * (2 / std::sqrt(std::numbers::pi)));
      default:
        return zero(a->type);
    }
  }

  void of_binary(const Binary& node, const Expr& value, const Masked& cotangent) {
    const Expr &a = node.a, &b = node.b, &g = cotangent.value;
    const auto to = [&](const Expr& operand, Expr part) {
      add(operand, {cotangent.mask, std::move(part)});
    };
    switch (node.op) {
      case BinaryOp::add:
        to(a, g);
        to(b, g);
        break;
      case BinaryOp::sub:
        to(a, g);
        if (depends(b)) to(b, negated(g));
        break;
      case BinaryOp::mul:
        if (depends(a)) to(a, times(g, b));
        if (depends(b)) to(b, times(g, a));
        break;
      case BinaryOp::div:
        if (depends(a)) to(a, g / b);
        if (const auto [x, plus] = exponential_sum(b); x.get() && depends(x)) {
          // By exp and the sum, 0 would be multiplied by infinity where exp overflows.
          const auto c = as_float(a);
          const Expr share = c && *c == plus ? value : constant(b->type, plus) / b;
          to(x, negated(times(g, value * (constant(b->type, 1) - share))));
        } else if (depends(b)) {
          to(b, negated(times(g, value / b)));
        }
        break;
      case BinaryOp::rem:
        to(a, g);
        if (depends(b)) to(b, negated(times(g, trunc(a / b))));
        break;
      case BinaryOp::floormod:
        to(a, g);
        if (depends(b)) to(b, negated(times(g, floor(a / b))));
        break;
      case BinaryOp::max:
        of_choice(a, b, a > b, cotangent);
        of_choice(b, a, b > a, cotangent);
        break;
      case BinaryOp::min:
        of_choice(a, b, a < b, cotangent);
        of_choice(b, a, b < a, cotangent);
        break;
      case BinaryOp::pow:
        if (depends(a)) to(a, of_base(a, b, g));
        if (depends(b)) {
          // As PyTorch: a power of 0 does not hang on its exponent.
          add(b, {conjunction(cotangent.mask, !(a == 0.0 && b >= 0.0)), times(g, value * log(a))});
        }
        break;
      default:
        break;
    }
  }

  struct ExponentialSum {
    Expr x;  // of exp(x) + plus; null where an expression has another form
    double plus = 0;
  };
  static ExponentialSum exponential_sum(const Expr& e) {
    const auto* node = as<Binary>(e);
    if (!node || node->op != BinaryOp::add) return {};
    const bool swapped = as_float(node->a).has_value();
    const auto plus = as_float(swapped ? node->a : node->b);
    const auto* power = as<Unary>(swapped ? node->b : node->a);
    if (!plus || !power || power->op != UnaryOp::exp) return {};
    return {power->a, *plus};
  }

  void of_choice(const Expr& operand, const Expr& other, const Expr& wins,
                 const Masked& cotangent) {
    if (!depends(operand)) return;
    const Expr& g = cotangent.value;
    if (as_float(other)) {
      add(operand, {conjunction(cotangent.mask, wins), g});
      return;
    }
    add(operand, {conjunction(cotangent.mask, wins || operand == other),
                  select(operand == other, g * 0.5, g)});
  }

  static Expr of_base(const Expr& a, const Expr& b, const Expr& g) {
    const auto power = as_float(b);
    if (power && *power == 0) return zero(a->type);
    if (power && *power == 1) return g;
    if (power && *power == 2) return times(g, a * 2.0);
    if (power) return times(g, pow(a, constant(b->type, *power - 1)) * *power);
    return times(g, select(b == 0.0, zero(a->type), b * pow(a, b - 1.0)));
  }

  const std::function<bool(const Expr&)>& wanted_;
  std::unordered_map<const Node*, bool> depends_;
  std::vector<Expr> order_;
  std::unordered_map<const Node*, std::vector<Masked>> parts_;
  std::unordered_map<const Node*, Expr> known_;
  std::vector<Found> found_;
};

}  // namespace

Expr conjunction(Expr a, Expr b) {
  if (!a.get()) return b;
  if (!b.get() || equal(a, b)) return a;
  return std::move(a) && std::move(b);
}

Expr unmasked(const Masked& masked) {
  return masked.mask ? select(masked.mask, masked.value, zero(masked.value->type)) : masked.value;
}

bool is_zero(const Expr& e) { return is_number(e, 0); }

Expr times(Expr a, Expr b) {
  if (is_zero(a) || is_number(b, 1)) return a;
  if (is_zero(b) || is_number(a, 1)) return b;
  return std::move(a) * std::move(b);
}

Expr negated(const Expr& a) {
  if (const auto* inner = as<Unary>(a); inner && inner->op == UnaryOp::neg) return inner->a;
  return -a;
}

std::vector<LeafCotangent> cotangents_of(const std::vector<Root>& roots,
                                         const std::function<bool(const Expr&)>& wanted) {
  return Reverse(wanted).run(roots);
}

}  // namespace gossamer::autodiff
