#include "ir/ranges.h"

#include <algorithm>
#include <cstdlib>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"

namespace gossamer::ir {
namespace {

bool infinite(int64_t x) { return x == minus_infinity || x == plus_infinity; }

// Infinity of the sign of the true result where it does not fit.
int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  if (!infinite(a) && !infinite(b) && !__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? plus_infinity : minus_infinity;
}

int64_t plus(int64_t a, int64_t b, int64_t infinity) {
  int64_t sum;
  if (infinite(a) || infinite(b) || __builtin_add_overflow(a, b, &sum)) return infinity;
  return sum;
}

int64_t divided(int64_t a, int64_t by) { return infinite(a) ? a : floor_div(a, by); }

Range of_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return {0, 1};
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    case DType::i4:
      return {-8, 7};
    case DType::u4:
      return {0, 15};
    case DType::i2:
      return {-2, 1};
    case DType::u2:
      return {0, 3};
    case DType::i16:
      return {-32768, 32767};
    case DType::u16:
      return {0, 65535};
    case DType::i32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case DType::u32:
      return {0, std::numeric_limits<uint32_t>::max()};
    default:
      return {};
  }
}

bool fits(Range range, Range within) {
  return range.low >= within.low && range.high <= within.high;
}

// x // d for any d of the range that is at least 1 (0 gives 0).
Range quotient(Range x, Range d) {
  if (d.low < 0) return {};
  if (d.low == d.high && d.low > 0) return {divided(x.low, d.low), divided(x.high, d.low)};
  const int64_t smallest = std::max<int64_t>(d.low, 1);
  Range result;
  result.low = x.low >= 0 ? (infinite(d.high) ? 0 : divided(x.low, std::max<int64_t>(d.high, 1)))
                          : divided(x.low, smallest);
  result.high = x.high >= 0
                    ? divided(x.high, smallest)
                    : (infinite(d.high) ? -1 : divided(x.high, std::max<int64_t>(d.high, 1)));
  return d.low == 0 ? join(result, exactly(0)) : result;
}

Range remainder(Range x, Range d) {
  if (d.low < 0) return {};
  if (d.low == d.high && d.low > 0 && !infinite(x.low) && !infinite(x.high) &&
      floor_div(x.low, d.low) == floor_div(x.high, d.low)) {
    return {floor_mod(x.low, d.low), floor_mod(x.high, d.low)};
  }
  Range result{0, infinite(d.high) ? plus_infinity : std::max<int64_t>(d.high - 1, 0)};
  if (x.low >= 0) result.high = std::min(result.high, x.high);
  return result;
}

}  // namespace

Range operator+(Range a, Range b) {
  return {plus(a.low, b.low, minus_infinity), plus(a.high, b.high, plus_infinity)};
}

Range operator*(Range a, Range b) {
  const int64_t corners[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                             times(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Range join(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

Range intersect(Range a, Range b) {
  const Range both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

int64_t gcd(int64_t a, int64_t b) {
  if (a == minus_infinity || b == minus_infinity) return 1;
  a = std::abs(a);
  b = std::abs(b);
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

void RangeFinder::forget() {
  ranges_.clear();
  multiples_.clear();
}

Range RangeFinder::of(const Expr& e) {
  if (auto* imm = as<IntImm>(e)) return exactly(imm->value);
  if (const Range* known = ranges_.find(e)) return *known;
  const Range range = intersect(of_type(e->type.dtype), compute(e));
  ranges_.add(e, range);
  return range;
}

Range RangeFinder::compute(const Expr& e) {
  if (auto* var = as<VarNode>(e)) {
    auto known = bounds_.ranges_.find(var);
    Range range = known == bounds_.ranges_.end() ? Range{} : known->second;
    if (bounds_.extents_.contains(var)) range = intersect(range, {0, plus_infinity});
    return range;
  }
  if (auto* b = as<Binary>(e)) {
    Range range = of_binary(*b);
    const auto same = [&](const Expr& known) { return equal(known, e); };
    if (range.low < 1 && std::ranges::any_of(bounds_.positive_, same)) range.low = 1;
    return range;
  }
  if (auto* s = as<Select>(e)) return join(of(s->yes), of(s->no));
  if (auto* c = as<Cast>(e)) {
    if (is_float(c->a->type.dtype)) return {};
    const Range inner = of(c->a), outer = of_type(e->type.dtype);
    return fits(inner, outer) ? inner : outer;
  }
  if (auto* u = as<Unary>(e)) {
    if (u->op == UnaryOp::neg) return of(u->a) * exactly(-1);
    if (u->op == UnaryOp::abs) {
      const Range inner = of(u->a), flipped = inner * exactly(-1);
      if (inner.low >= 0) return inner;
      if (inner.high <= 0) return flipped;
      return {0, std::max(inner.high, flipped.high)};
    }
    return {};
  }
  if (auto* splat = as<Broadcast>(e)) return of(splat->a);
  if (auto* r = as<Ramp>(e)) {
    return of(r->base) + exactly(r->stride) * Range{0, e->type.lanes - 1};
  }
  if (auto* l = as<Lane>(e)) return of(l->a);
  if (auto* v = as<MakeVector>(e)) {
    Range all = of(v->lanes[0]);
    for (const Expr& part : v->lanes) all = join(all, of(part));
    return all;
  }
  return {};
}

Range RangeFinder::of_binary(const Binary& b) {
  if (is_float(b.a->type.dtype)) return {};
  const Range x = of(b.a), y = of(b.b);
  switch (b.op) {
    // A wrapping type that leaves its range may be anything of the type.
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul: {
      const Range flipped = y * exactly(-1);
      const Range range = b.op == BinaryOp::mul ? x * y : x + (b.op == BinaryOp::add ? y : flipped);
      return b.type.dtype == DType::index || fits(range, of_type(b.type.dtype)) ? range : Range{};
    }
    case BinaryOp::min:
      return {std::min(x.low, y.low), std::min(x.high, y.high)};
    case BinaryOp::max:
      return {std::max(x.low, y.low), std::max(x.high, y.high)};
    case BinaryOp::div: {
      if (x.low >= 0) return quotient(x, y);
      if (y.low != y.high || y.low <= 0) return {};
      // towards 0: (x - 1) / 2 is not negative
      const Range magnitude = quotient({0, infinite(x.low) ? plus_infinity : -x.low}, y);
      return {infinite(x.low) ? x.low : -magnitude.high, std::max<int64_t>(quotient(x, y).high, 0)};
    }
    case BinaryOp::floordiv:
      return quotient(x, y);
    case BinaryOp::rem:
    case BinaryOp::floormod:
      return b.op == BinaryOp::floormod || x.low >= 0 ? remainder(x, y) : Range{};
    case BinaryOp::bit_and:
      if (y.low >= 0) return {0, x.low >= 0 ? std::min(x.high, y.high) : y.high};
      if (x.low >= 0) return {0, x.high};
      return {};
    case BinaryOp::shr:
      if (y.low == y.high && y.low >= 0 && y.low < 62)
        return quotient(x, exactly(int64_t{1} << y.low));
      return {};
    default:
      return {};
  }
}

int64_t RangeFinder::multiple_of(const Expr& e) {
  if (auto* imm = as<IntImm>(e)) return gcd(imm->value, 0);
  if (const int64_t* known = multiples_.find(e)) return *known;
  const int64_t factor = e->type.dtype == DType::index ? compute_multiple(e) : 1;
  multiples_.add(e, factor);
  return factor;
}

int64_t RangeFinder::compute_multiple(const Expr& e) {
  if (auto* var = as<VarNode>(e)) {
    auto known = bounds_.multiples_.find(var);
    return known == bounds_.multiples_.end() ? 1 : known->second;
  }
  if (auto* s = as<Select>(e)) return gcd(multiple_of(s->yes), multiple_of(s->no));
  if (auto* u = as<Unary>(e); u && u->op == UnaryOp::neg) return multiple_of(u->a);
  if (auto* splat = as<Broadcast>(e)) return multiple_of(splat->a);
  if (auto* r = as<Ramp>(e)) return gcd(multiple_of(r->base), r->stride);
  auto* b = as<Binary>(e);
  if (!b) return 1;
  const int64_t x = multiple_of(b->a), y = multiple_of(b->b);
  switch (b->op) {
    case BinaryOp::mul: {
      const int64_t product = times(x, y);
      return infinite(product) ? std::max(x, y) : product;
    }
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::floormod:
    case BinaryOp::rem:
      return gcd(x, y);
    case BinaryOp::div:
    case BinaryOp::floordiv: {
      auto by = as_int(b->b);
      return by && *by > 0 && x % *by == 0 ? x / *by : 1;
    }
    default:
      return 1;
  }
}

std::vector<Expr> positive_factors(const Expr& extent) {
  auto* b = as<Binary>(extent);
  if (b && b->op == BinaryOp::mul) {
    std::vector<Expr> all = positive_factors(b->a), right = positive_factors(b->b);
    all.insert(all.end(), right.begin(), right.end());
    return all;
  }
  if (as_int(extent)) return {};
  std::vector<Expr> all{extent};
  // (x + 7) // 8 >= 1: x is positive too
  const auto by = b && b->op == BinaryOp::floordiv ? as_int(b->b) : std::nullopt;
  if (!by || *by < 1) return all;
  auto* sum = as<Binary>(b->a);
  const auto more = sum && sum->op == BinaryOp::add ? as_int(sum->b) : std::nullopt;
  if (more && *more >= *by) return all;
  for (Expr& factor : positive_factors(more ? sum->a : b->a)) all.push_back(std::move(factor));
  return all;
}

void Bounds::set_axis(const VarNode* var, const Expr& extent) {
  const int64_t high = of(extent).high;
  set(var, {0, high == plus_infinity ? high : std::max<int64_t>(high - 1, 0)});
  if (as_int(extent)) return;
  set_extent(var, extent);
  for (const Expr& factor : positive_factors(extent)) {
    if (auto* dimension = as<VarNode>(factor)) {
      const Range known = of(factor);
      set(dimension, {std::max<int64_t>(known.low, 1), known.high});
    } else {
      positive_.push_back(factor);
    }
  }
}

Range Bounds::of(const Expr& e) const { return RangeFinder(*this).of(e); }
int64_t Bounds::multiple_of(const Expr& e) const { return RangeFinder(*this).multiple_of(e); }

}  // namespace gossamer::ir
