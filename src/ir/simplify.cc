#include "ir/simplify.h"

#include <cmath>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "ir/simplifier.h"

namespace gossamer::ir {
namespace {

bool commutes(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::mul:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
      return true;
    default:
      return false;
  }
}

// A word whose integers are known one by one; null where they are not.
Expr word_of_parts(Type type, const Expr& parts) {
  const DType part = parts->type.dtype;
  if (!type.is_scalar() || !is_int(type.dtype) || byte_size(type.dtype) != 4 || !is_int(part) ||
      is_small(part) || parts->type.is_scalar())
    return {};
  const auto* lanes = as<MakeVector>(parts);
  const auto* splat = as<Broadcast>(parts);
  if (!lanes && !splat) return {};
  const int bits = 32 / parts->type.lanes;
  Expr word;
  for (int i = 0; i < parts->type.lanes; ++i) {
    const Expr whole = cast(type, lanes ? lanes->lanes[static_cast<size_t>(i)] : splat->a);
    // The upper bits of the last are shifted out.
    const bool last = i + 1 == parts->type.lanes;
    const Expr low =
        last ? whole
             : binary(BinaryOp::bit_and, whole, constant_int(type, (int64_t{1} << bits) - 1));
    if (i == 0) {
      word = low;
      continue;
    }
    word = binary(BinaryOp::bit_or, word,
                  binary(BinaryOp::shl, low, constant_int(type, int64_t{bits} * i)));
  }
  return word;
}

// 1 / c where that is exact: c a power of two, neither it nor its reciprocal denormal in the type.
std::optional<double> exact_reciprocal(DType dtype, double c) {
  if (!std::isfinite(c) || c == 0 || is_small(dtype)) return std::nullopt;
  int exponent;
  if (std::fabs(std::frexp(c, &exponent)) != 0.5) return std::nullopt;
  const int limit = dtype == DType::f16 ? 14 : dtype == DType::f64 ? 1022 : 126;
  if (exponent - 1 > limit || exponent - 1 < -limit) return std::nullopt;
  return 1 / c;
}

int exact_bits(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 8;
    case DType::f16:
      return 11;
    case DType::f32:
      return 24;
    case DType::f64:
      return 53;
    case DType::boolean:
      return 1;
    case DType::index:
      return 64;
    default:
      return bit_width(dtype);
  }
}

// Every value of `from` is one of `to`.
bool holds(DType to, DType from) {
  if (from == DType::boolean) return true;
  if (is_small(to) && to != from) return false;
  // A cast makes f8e5m2's infinity a number, so that one is never the same without its detour.
  if (is_small(from) && is_float(from))
    return (to == DType::f32 || to == DType::f64) && from != DType::f8e5m2;
  if (is_float(from)) {
    return is_float(to) && exact_bits(to) >= exact_bits(from) &&
           !(from == DType::bf16 && to == DType::f16);
  }
  const int bits = exact_bits(from);
  if (is_float(to)) return bits <= exact_bits(to);
  if (is_unsigned_int(from)) {
    return is_unsigned_int(to) ? exact_bits(to) >= bits : is_int(to) && exact_bits(to) > bits;
  }
  return is_signed_int(to) && exact_bits(to) >= bits;
}

bool rounds(UnaryOp op) {
  return op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::round ||
         op == UnaryOp::trunc;
}

}  // namespace

Expr Simplifier::canonical(Expr result) {
  memory_.exprs.add(result, result);
  return result;
}

Expr Simplifier::expr(const Expr& e) {
  if (!e.get() || e->kind == NodeKind::IntImm || e->kind == NodeKind::FloatImm) return e;
  if (const Expr* known = memory_.exprs.find(e)) return *known;
  Expr result = canonical(compute(e));
  memory_.exprs.add(e, result);
  return result;
}

template <class T>
Expr Simplifier::with_simple_children(const Expr& e) {
  const T& original = static_cast<const T&>(*e);
  SmallVector<Expr, 4> children;
  bool changed = false;
  const auto note = [&](const Expr& child) {
    children.push_back(expr(child));
    changed = changed || !children.back().same(child);
  };
  visit_fields(original, [&]<class F>(const char*, const F& field) {
    if constexpr (std::is_same_v<F, Expr>) note(field);
    if constexpr (std::is_same_v<F, std::vector<Expr>>) {
      for (const Expr& child : field) note(child);
    }
  });
  if (!changed) return e;
  auto* copy = new T(original);
  size_t next = 0;
  visit_fields(*copy, [&]<class F>(const char*, F& field) {
    if constexpr (std::is_same_v<F, Expr>) field = std::move(children[next++]);
    if constexpr (std::is_same_v<F, std::vector<Expr>>) {
      for (Expr& child : field) child = std::move(children[next++]);
    }
  });
  return Expr(copy);
}

Expr Simplifier::compute(const Expr& e) { return is_lane_algebra(e) ? vector(e) : plain(e); }

Expr Simplifier::plain(const Expr& e) {
  switch (e->kind) {
    case NodeKind::Var: {
      auto* v = as<VarNode>(e);
      if (auto known = values_.find(v); known != values_.end()) return known->second;
      if (v->type == Type(DType::index)) {
        if (const Range r = ranges_.of(e); r.low == r.high) return index(r.low);
      }
      return e;
    }
    case NodeKind::Unary:
      return simplified_unary(*as<Unary>(e), e);
    case NodeKind::Binary:
      return simplified_binary(*as<Binary>(e), e);
    case NodeKind::Select:
      return simplified_select(*as<Select>(e));
    case NodeKind::Cast:
      return simplified_cast(e);
    case NodeKind::Load:
      return simplified_load(e);
    case NodeKind::Fma: {
      auto* f = as<Fma>(e);
      const Expr a = expr(f->a), b = expr(f->b), c = expr(f->c);
      return a.same(f->a) && b.same(f->b) && c.same(f->c) ? e : fma(a, b, c);
    }
    case NodeKind::Dot: {
      auto* d = as<Dot>(e);
      const Expr a = expr(d->a), b = expr(d->b), c = expr(d->c);
      return a.same(d->a) && b.same(d->b) && c.same(d->c) ? e : dot(a, b, c, d->terms);
    }
    case NodeKind::Bitcast: {
      const Expr a = expr(as<Bitcast>(e)->a);
      if (auto* inner = as<Bitcast>(a); inner && inner->a->type == e->type) return inner->a;
      if (Expr word = word_of_parts(e->type, a)) return word;
      return bitcast(e->type, a);
    }
    case NodeKind::Ramp:
      return ramp(expr(as<Ramp>(e)->base), as<Ramp>(e)->stride, e->type.lanes);
    case NodeKind::Broadcast:
      return broadcast(expr(as<Broadcast>(e)->a), e->type.lanes);
    case NodeKind::Lane:
      return simplified_lane(*as<Lane>(e));
    case NodeKind::MakeVector: {
      std::vector<Expr> lanes;
      bool all_same = true;
      for (const Expr& part : as<MakeVector>(e)->lanes) {
        lanes.push_back(expr(part));
        all_same = all_same && order_.compare(lanes[0], lanes.back()) == 0;
      }
      return all_same ? broadcast(lanes[0], e->type.lanes) : make_vector(std::move(lanes));
    }
    default:
      return e;
  }
}

Expr Simplifier::simplified_unary(const Unary& u, const Expr& original) {
  if (u.type == Type(DType::index) && u.op == UnaryOp::neg) return finish(poly(original));
  const Expr a = expr(u.a);
  if (u.op == UnaryOp::logical_not) return negation(a);
  if (u.a->type.dtype == DType::index) {
    if (rounds(u.op)) return a;
    if (u.op == UnaryOp::abs && u.type.is_scalar()) {
      const Range r = ranges_.of(a);
      if (r.low >= 0) return a;
      if (r.high <= 0) return expr(-a);
    }
  }
  if (auto* inner = as<Unary>(a)) {
    if (u.op == inner->op &&
        (u.op == UnaryOp::neg || u.op == UnaryOp::bit_not || u.op == UnaryOp::logical_not)) {
      return inner->a;
    }
    if (u.op == UnaryOp::abs && inner->op == UnaryOp::neg) return expr(abs(inner->a));
    if (u.op == UnaryOp::abs && inner->op == UnaryOp::abs) return a;
    if (rounds(u.op) && rounds(inner->op)) return a;
  }
  if (auto* from = as<Cast>(a); from && rounds(u.op) && is_int(from->a->type.dtype)) return a;
  return a.same(u.a) ? original : unary(u.op, a);
}

Expr Simplifier::simplified_binary(const Binary& b, const Expr& original) {
  if (is_comparison(b.op)) {
    const Expr result = compare(b.op, b.a, b.b);
    return result ? result : binary(b.op, expr(b.a), expr(b.b));
  }
  if (is_logical(b.op)) return logic(b.op, b.a, b.b);
  if (b.type == Type(DType::index)) {
    switch (b.op) {
      case BinaryOp::min:
      case BinaryOp::max:
        return min_max(b.op, b.a, b.b);
      case BinaryOp::shl:
      case BinaryOp::shr: {
        auto by = as_int(expr(b.b));
        if (!by || *by < 0 || *by >= 31) return binary(b.op, expr(b.a), expr(b.b));
        return finish(poly(original));
      }
      case BinaryOp::bit_and:
      case BinaryOp::bit_or:
      case BinaryOp::bit_xor:
        return value_binary(b.op, expr(b.a), expr(b.b));
      default:
        return finish(poly(original));
    }
  }
  const Expr x = expr(b.a), y = expr(b.b);
  if (is_float(b.type.dtype)) return float_binary(b.op, x, y, original);
  return value_binary(b.op, x, y);
}

Expr Simplifier::float_binary(BinaryOp op, const Expr& a, const Expr& b, const Expr& original) {
  auto x = splat_float(a), y = splat_float(b);
  if (x && y) return binary(op, a, b);
  if (x && commutes(op)) return float_binary(op, b, a, original);
  const DType dtype = a->type.dtype;
  if (y) {
    const bool minus_zero = *y == 0 && std::signbit(*y), plus_zero = *y == 0 && !minus_zero;
    switch (op) {
      case BinaryOp::add:
        if (minus_zero) return a;
        break;
      case BinaryOp::sub:
        if (plus_zero) return a;
        break;
      case BinaryOp::mul:
        if (*y == 1) return a;
        if (*y == -1) return expr(-a);
        break;
      case BinaryOp::div:
        if (*y == 1) return a;
        if (auto r = exact_reciprocal(dtype, *y)) {
          return float_binary(BinaryOp::mul, a, constant(a->type, *r), {});
        }
        break;
      case BinaryOp::min:
      case BinaryOp::max:
        // max(max(x, 1), 2) -> max(x, 2); NaN goes through either way.
        if (auto* inner = as<Binary>(a); inner && inner->op == op && splat_float(inner->b)) {
          return float_binary(op, inner->a, binary(op, inner->b, b), {});
        }
        break;
      case BinaryOp::pow:
        if (*y == 1) return a;
        break;
      default:
        break;
    }
  }
  if ((op == BinaryOp::min || op == BinaryOp::max) && order_.compare(a, b) == 0) return a;
  auto* o = as<Binary>(original);
  return o && o->a.same(a) && o->b.same(b) ? original : binary(op, a, b);
}

Expr Simplifier::as_index(const Expr& e) {
  const DType dtype = e->type.dtype;
  if (dtype != DType::i64 && dtype != DType::i32) return {};
  if (auto value = splat_int(e)) {
    if (*value != static_cast<int32_t>(*value)) return {};
    return constant_int(e->type.with_dtype(DType::index), *value);
  }
  auto* c = as<Cast>(e);
  if (!c || c->a->type.dtype != DType::index) return {};
  if (dtype == DType::i64) return c->a;
  const Range r = ranges_.of(c->a);
  return r.low >= std::numeric_limits<int32_t>::min() &&
                 r.high <= std::numeric_limits<int32_t>::max()
             ? c->a
             : Expr();
}

Expr Simplifier::value_binary(BinaryOp op, Expr a, Expr b) {
  auto x = splat_int(a), y = splat_int(b);
  if (x && y) return binary(op, a, b);
  const Type type = a->type;
  if (type.dtype != DType::index && !is_bitwise(op)) {
    // Arithmetic on dimensions and positions stays in `index`.
    const Expr i = as_index(a), j = as_index(b);
    if (i.get() && j.get()) {
      const Expr result = expr(binary(op, i, j));
      const Range r = ranges_.of(result);
      if (type.dtype == DType::i64 || (r.low >= std::numeric_limits<int32_t>::min() &&
                                       r.high <= std::numeric_limits<int32_t>::max())) {
        return cast(type, result);
      }
    }
  }
  if (x && commutes(op)) {
    std::swap(a, b);
    std::swap(x, y);
  }
  if (y) {
    const bool zero_right = *y == 0, one_right = *y == 1;
    switch (op) {
      case BinaryOp::add:
      case BinaryOp::bit_or:
      case BinaryOp::bit_xor:
      case BinaryOp::sub:
      case BinaryOp::shl:
      case BinaryOp::shr:
        if (zero_right) return a;
        break;
      case BinaryOp::mul:
        if (one_right) return a;
        if (zero_right) return b;
        break;
      case BinaryOp::bit_and:
        if (zero_right) return b;
        break;
      case BinaryOp::div:
      case BinaryOp::floordiv:
        if (one_right) return a;
        if (zero_right) return b;
        break;
      case BinaryOp::rem:
      case BinaryOp::floormod:
        if (one_right || zero_right) return zero(type);
        break;
      default:
        break;
    }
    auto* inner = as<Binary>(a);
    if (inner && inner->op == op && splat_int(inner->b) && commutes(op)) {
      return value_binary(op, inner->a, binary(op, inner->b, b));
    }
  }
  if (order_.compare(a, b) == 0) {
    if (op == BinaryOp::min || op == BinaryOp::max || op == BinaryOp::bit_and ||
        op == BinaryOp::bit_or) {
      return a;
    }
    if (op == BinaryOp::sub || op == BinaryOp::bit_xor) return zero(type);
  }
  return binary(op, a, b);
}

Expr Simplifier::simplified_cast(const Expr& e) {
  auto* c = as<Cast>(e);
  const Expr a = expr(c->a);
  const Type to = e->type;
  if (to == a->type) return a;
  if (to.dtype == DType::index) {
    if (Expr same = as_index(a)) return expr(same);
  }
  if (auto* inner = as<Cast>(a)) {
    const DType from = inner->a->type.dtype, middle = a->type.dtype;
    // index stands for any 64-bit value by definition, so i64 -> index -> i64 changes nothing.
    const bool exact = holds(middle, from) || (middle == DType::index && from == DType::i64);
    const bool same_class = is_float(middle) == is_float(from) || from == DType::boolean;
    if (exact && (same_class || to.dtype == from) && middle != DType::boolean) {
      return expr(cast(to, inner->a));
    }
  }
  return a.same(c->a) ? e : cast(to, a);
}

Expr Simplifier::simplified_select(const Select& s) {
  Expr condition = expr(s.condition), yes = expr(s.yes), no = expr(s.no);
  if (auto value = splat_int(condition)) return *value ? yes : no;
  if (order_.compare(yes, no) == 0) return yes;
  if (auto* u = as<Unary>(condition); u && u->op == UnaryOp::logical_not) {
    condition = u->a;
    std::swap(yes, no);
  }
  if (s.type.dtype == DType::boolean) {
    auto x = splat_int(yes), y = splat_int(no);
    if (x && y) return *x ? condition : negation(condition);
  }
  auto *c = as<Broadcast>(condition), *p = as<Broadcast>(yes), *q = as<Broadcast>(no);
  if (c && p && q) return broadcast(expr(select(c->a, p->a, q->a)), s.type.lanes);
  return select(condition, yes, no);
}

Expr Simplifier::simplified_load(const Expr& e) {
  const Expr simple = with_simple_children<Load>(e);
  auto* l = as<Load>(simple);
  // The same element in every lane is one element.
  bool any_vector = false;
  for (const Expr& i : l->indices) {
    if (i->type.is_scalar()) continue;
    if (!as<Broadcast>(i)) return simple;
    any_vector = true;
  }
  if (!any_vector) return simple;
  auto* one = new Load(e->type.with_lanes(1));
  one->buffer = l->buffer;
  for (const Expr& i : l->indices) {
    const auto* same = as<Broadcast>(i);
    one->indices.push_back(same ? same->a : i);
  }
  return broadcast(Expr(one), e->type.lanes);
}

Expr simplify(const Expr& e, const Bounds& bounds) { return Simplifier(bounds).expr(e); }

bool prove(const Expr& condition, const Bounds& bounds) {
  return splat_int(Simplifier(bounds).expr(condition)) == 1;
}

bool prove_equal(const Expr& a, const Expr& b, const Bounds& bounds) {
  if (a->type != b->type) return false;
  if (a.same(b)) return true;
  Simplifier simplifier(bounds);
  if (a->type == Type(DType::index)) return is_const(simplifier.expr(a - b), 0);
  return equal(simplifier.expr(a), simplifier.expr(b));
}

}  // namespace gossamer::ir
