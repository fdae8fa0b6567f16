// Random expressions against their simple forms.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "ir/simplify.h"

namespace gossamer::ir {
namespace {

struct Random {
  uint64_t state;
  uint32_t next(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33) % below;
  }
};

struct Variable {
  Var var;
  Range range;
  int64_t multiple;
  int64_t value = 0;
};

struct Generator {
  Random random;
  std::vector<Variable> variables;

  Expr number(int depth, int lanes) {
    if (lanes > 1 && random.next(4) == 0) return broadcast(number(depth, 1), lanes);
    if (depth == 0 || random.next(8) == 0) {
      if (lanes > 1) return ramp(number(0, 1), static_cast<int>(random.next(5)) - 1, lanes);
      if (random.next(3) == 0) return index(static_cast<int>(random.next(24)) - 4);
      return variables[random.next(static_cast<uint32_t>(variables.size()))].var;
    }
    Expr a = number(depth - 1, lanes);
    auto small = [&] {
      static constexpr int choices[] = {1, 2, 3, 4, 6, 8, 16, 32, 64, -2};
      return broadcast(index(choices[random.next(10)]), lanes);
    };
    switch (random.next(12)) {
      case 0:
      case 1:
      case 2:
        return a + number(depth - 1, lanes);
      case 3:
        return a - number(depth - 1, lanes);
      case 4:
        return a * small();
      case 5:
      case 6:
        return floordiv(a, random.next(6) ? small() : number(depth - 1, lanes));
      case 7:
      case 8:
        return floormod(a, random.next(6) ? small() : number(depth - 1, lanes));
      case 9:
        return random.next(2) ? min(a, number(depth - 1, lanes)) : max(a, number(depth - 1, lanes));
      case 10:
        return select(truth(depth - 1, lanes), a, number(depth - 1, lanes));
      default:
        return random.next(2) ? a * number(depth - 1, lanes) : a / small();
    }
  }
  Expr truth(int depth, int lanes) {
    if (depth > 0 && random.next(3) == 0) {
      Expr a = truth(depth - 1, lanes), b = truth(depth - 1, lanes);
      switch (random.next(4)) {
        case 0:
          return a && b;
        case 1:
          return a || b;
        case 2:
          return !a;
        default:
          return binary(BinaryOp::logical_xor, a, b);
      }
    }
    static constexpr BinaryOp ops[] = {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt,
                                       BinaryOp::le, BinaryOp::gt, BinaryOp::ge};
    return binary(ops[random.next(6)], number(std::max(depth - 1, 0), lanes),
                  number(std::max(depth - 1, 0), lanes));
  }
};

using Env = std::unordered_map<const VarNode*, int64_t>;
Scalar value_of(const Expr& e, const Env& env, int lane) {
  auto of = [&](const Expr& child) { return value_of(child, env, lane); };
  if (auto* v = as<VarNode>(e)) return {DType::index, env.at(v), 0};
  if (auto* i = as<IntImm>(e)) return {i->type.dtype, i->value, 0};
  if (auto* u = as<Unary>(e)) return apply(u->op, of(u->a));
  if (auto* b = as<Binary>(e)) return apply(b->op, of(b->a), of(b->b));
  if (auto* s = as<Select>(e)) return of(s->condition).truthy() ? of(s->yes) : of(s->no);
  if (auto* s = as<Broadcast>(e)) return of(s->a);
  if (auto* r = as<Ramp>(e)) return {DType::index, of(r->base).i + r->stride * lane, 0};
  ADD_FAILURE() << "unexpected node " << name_of(e->kind);
  return {};
}

TEST(SimplifyRandom, ValuesStay) {
  int shorter = 0;
  auto size = [](const Expr& e) {
    int count = 0;
    visit(e, [&](const Expr&) { return ++count > 0; });
    return count;
  };
  int64_t before = 0, after = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    Generator g{{seed * 7919}, {}};
    Bounds bounds;
    const char* names[] = {"p", "q", "r", "s"};
    for (const char* name : names) {
      Variable v{var(name), {}, 1};
      const int64_t low = static_cast<int>(g.random.next(20)) - (g.random.next(3) ? 0 : 10);
      v.range = {low, low + static_cast<int64_t>(g.random.next(40))};
      if (g.random.next(2)) v.range = {0, int64_t{1} << (1 + g.random.next(6))};
      if (g.random.next(4) == 0) v.multiple = int64_t{1} << g.random.next(4);
      if (g.random.next(5)) bounds.set(v.var.get(), v.range);
      if (v.multiple > 1) bounds.set_multiple(v.var.get(), v.multiple);
      g.variables.push_back(v);
    }
    const int lanes = seed % 3 == 0 ? 4 : 1;
    const Expr e = seed % 4 == 0 ? g.truth(3, lanes) : g.number(4, lanes);
    const Expr simple = simplify(e, bounds);
    ASSERT_EQ(simple->type, e->type);
    before += size(e);
    after += size(simple);
    shorter += size(simple) < size(e);
    for (int trial = 0; trial < 12; ++trial) {
      Env env;
      for (Variable& v : g.variables) {
        const int64_t span = v.range.high - v.range.low + 1;
        int64_t value = v.range.low + g.random.next(static_cast<uint32_t>(span));
        const int64_t rounded = floor_div(value, v.multiple) * v.multiple;
        value = rounded < v.range.low ? rounded + v.multiple : rounded;
        if (value > v.range.high) value = 0;
        env[v.var.get()] = value;
      }
      bool legal = true;
      for (Variable& v : g.variables) {
        legal = legal && env[v.var.get()] >= v.range.low && env[v.var.get()] <= v.range.high;
      }
      if (!legal) continue;
      for (int lane = 0; lane < lanes; ++lane) {
        ASSERT_EQ(value_of(simple, env, lane).i, value_of(e, env, lane).i)
            << "seed " << seed << ": " << print(e) << "\n  became " << print(simple);
      }
    }
  }
  EXPECT_LT(after, before);
  EXPECT_GT(shorter, 1000);
}

// The value of scalar arithmetic in 32 bits, which wraps.
int32_t wrapped(const Expr& e, const VarNode* var, int32_t value) {
  if (as<VarNode>(e)) return value;
  if (auto number = as_int(e)) return static_cast<int32_t>(*number);
  auto* node = as<Binary>(e);
  const int64_t a = wrapped(node->a, var, value), b = wrapped(node->b, var, value);
  const auto cut = [](int64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); };
  switch (node->op) {
    case BinaryOp::add:
      return cut(a + b);
    case BinaryOp::sub:
      return cut(a - b);
    case BinaryOp::mul:
      return cut(a * b);
    case BinaryOp::floordiv:
      return cut(floor_div(a, b));
    case BinaryOp::floormod:
      return cut(floor_mod(a, b));
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::ge:
      return a >= b;
    default:
      ADD_FAILURE() << print(e);
      return 0;
  }
}

// Addresses of permuted coordinates: coefficients times the address leave 32 bits, addresses do
// not, nor may what is divided or compared.
TEST(SimplifyRandom, AddressesFit32Bits) {
  Random random{20};
  int wide = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<int64_t> shape;
    int64_t count = 1;
    while (shape.size() < 2 + random.next(3)) {
      shape.push_back(2 + random.next(random.next(3) == 0 ? 30000 : 40));
      count *= shape.back();
    }
    if (count > 1 << 28) continue;
    const Var flat = var("flat");
    Bounds bounds;
    bounds.set(flat.get(), {0, count - 1});
    // The coordinates of `flat`, the last one fastest, in another order.
    std::vector<std::pair<Expr, int64_t>> coordinates;
    Expr left = flat;
    for (size_t i = shape.size(); i-- > 0;) {
      coordinates.emplace_back(i > 0 ? floormod(left, index(shape[i])) : left, shape[i]);
      left = floordiv(left, index(shape[i]));
    }
    if (random.next(2)) std::swap(coordinates[0], coordinates.back());
    Expr address = index(0);
    for (const auto& [at, extent] : coordinates) address = address * index(extent) + at;
    const int64_t by = int64_t{2} + random.next(6);
    const int64_t limit = random.next(static_cast<uint32_t>(count));
    for (const Expr& e : std::vector<Expr>{
             floordiv(address, index(by)), floormod(address, index(by)), address < index(limit),
             floormod(floordiv(address, index(by)), index(37)), floordiv(address + by, index(3))}) {
      const Expr simple = simplify(e, bounds);
      wide += print(simple) != print(e);
      for (int trial = 0; trial < 20; ++trial) {
        const auto value = static_cast<int64_t>(random.next(static_cast<uint32_t>(count)));
        const VarMap at{{flat.get(), index(value)}};
        ASSERT_EQ(wrapped(simple, flat.get(), static_cast<int32_t>(value)),
                  as_int(simplify(substitute(e, at))).value())
            << print(e) << "\n  became " << print(simple) << "\n  at " << value << " of " << count;
      }
    }
  }
  EXPECT_GT(wide, 100);
}

// Points of open shapes, numbered and split by the extents of another shape of as many points.
TEST(SimplifyRandom, OpenShapes) {
  Random random{77};
  int shorter = 0;
  for (int round = 0; round < 400; ++round) {
    // Factors of both shapes: sizes, some of them open, some of them quotients.
    std::vector<Var> dimensions;
    std::vector<Expr> factors;
    for (size_t i = 0; i < 3 + random.next(2); ++i) {
      const auto kind = random.next(4);
      if (kind == 0) {
        factors.push_back(index(2 + random.next(6)));
        continue;
      }
      dimensions.push_back(var(cat("d", i)));
      const Expr d = dimensions.back();
      factors.push_back(kind == 1 ? floordiv(d + 1, 2) : d);
    }
    const auto shape_of = [&] {
      std::vector<Expr> order = factors, shape;
      for (size_t i = order.size(); i-- > 1;)
        if (random.next(4) == 0) std::swap(order[i], order[i - 1]);
      for (const Expr& factor : order) {
        if (shape.empty() || random.next(2)) {
          shape.push_back(factor);
        } else {
          shape.back() = shape.back() * factor;
        }
      }
      return shape;
    };
    const std::vector<Expr> from = shape_of(), through = shape_of();
    Bounds bounds;
    std::vector<Var> point;
    Expr place = index(0);
    for (size_t i = 0; i < from.size(); ++i) {
      point.push_back(var(cat("i", i)));
      bounds.set_axis(point.back().get(), from[i]);
      place = place * from[i] + point.back();
    }
    std::vector<Expr> parts;  // the last axis first
    Expr left = place, back = index(0), stride = index(1);
    for (size_t i = through.size(); i-- > 0;) {
      parts.push_back(i > 0 ? floormod(left, through[i]) : left);
      left = floordiv(left, through[i]);
      back = back + parts.back() * stride;
      stride = stride * through[i];
    }
    parts.push_back(back);
    for (const Expr& e : parts) {
      const Expr simple = simplify(e, bounds);
      shorter += print(simple).size() < print(e).size();
      for (int trial = 0; trial < 20; ++trial) {
        VarMap at;
        for (const Var& d : dimensions) at[d.get()] = index(1 + random.next(7));
        for (size_t i = 0; i < from.size(); ++i) {
          const int64_t extent = as_int(simplify(substitute(from[i], at))).value();
          at[point[i].get()] = index(random.next(static_cast<uint32_t>(extent)));
        }
        ASSERT_EQ(as_int(simplify(substitute(simple, at))), as_int(simplify(substitute(e, at))))
            << print(e) << "\n  became " << print(simple);
      }
    }
    EXPECT_EQ(print(simplify(back, bounds)), print(simplify(place, bounds)));
  }
  EXPECT_GT(shorter, 400);
}

TEST(SimplifyRandom, SimpleStaysSimple) {
  int changed = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Generator g{{seed * 104729}, {}};
    Bounds bounds;
    for (const char* name : {"p", "q"}) {
      g.variables.push_back({var(name), {0, 31}, 1});
      bounds.set(g.variables.back().var.get(), {0, 31});
    }
    const Expr once = simplify(g.number(4, 1), bounds);
    changed += !equal(simplify(once, bounds), once);
  }
  EXPECT_LT(changed, 60);  // a fixed point is not promised, only nearly always reached
}

}  // namespace
}  // namespace gossamer::ir
