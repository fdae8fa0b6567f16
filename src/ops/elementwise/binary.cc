// Arithmetic of two or more elements, with broadcasting.
#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

using BinaryFunction = Expr (*)(Expr, Expr);

constexpr float inf = std::numeric_limits<float>::infinity();

Cases broadcast_cases(double low, double high, DType dtype = DType::f32) {
  return {
      {.name = "same", .shapes = {{3, 4, 5}, {3, 4, 5}}, .dtype = dtype, .low = low, .high = high},
      {.name = "row", .shapes = {{2, 3, 7}, {7}}, .dtype = dtype, .low = low, .high = high},
      {.name = "outer", .shapes = {{3, 1}, {1, 5}}, .dtype = dtype, .low = low, .high = high},
      {.name = "scalar", .shapes = {{}, {11}}, .dtype = dtype, .low = low, .high = high}};
}

OpDef arithmetic(std::string name, Doc doc, BinaryFunction function, double low = -2,
                 double high = 2) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 14,
          .inputs = {{"A", any_number}, {"B", any_number}},
          .outputs = {"C"},
          .define = [function](Builder& b) -> Result<> {
            GS_TRY(same_types(b));
            return elementwise(b, b.input(0).dtype(),
                               [&](std::span<const Expr> x) { return function(x[0], x[1]); });
          },
          .cases =
              [=] {
                Cases cases = broadcast_cases(low, high);
                cases.push_back({.name = "integers",
                                 .shapes = {{3, 5}, {5}},
                                 .dtype = DType::i32,
                                 .low = 1,
                                 .high = 50});
                return cases;
              }};
}

// Any number of inputs folded from left to right; `mean` divides by their count.
OpDef variadic(std::string name, Doc doc, int since, BinaryFunction function, TypeSet types,
               bool mean = false) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"data_0", types, InputDef::variadic}},
          .outputs = {"result"},
          .define = [function, mean](Builder& b) -> Result<> {
            GS_TRY(same_types(b));
            // A kernel can bind few buffers: many inputs are folded in groups.
            constexpr int group = 7;
            Tensor folded = b.input(0);
            int next = 1;
            do {
              std::vector<Tensor> some{folded};
              while (std::ssize(some) < group && next < b.input_count())
                some.push_back(b.input(next++));
              const bool last = next == b.input_count();
              GS_ASSIGN(Shape shape, b.broadcast(some));
              folded = b.compute(stage_name(b), b.input(0).dtype(), shape, [&](Point point) {
                Expr value = b.at_broadcast(some[0], point);
                for (const Tensor& more : std::span(some).subspan(1))
                  value = function(value, b.at_broadcast(more, point));
                return mean && last ? value / static_cast<double>(b.input_count()) : value;
              });
            } while (next < b.input_count());
            b.output(0, folded);
            return {};
          },
          .cases = [] -> Cases {
            return {{.name = "one", .shapes = {{5}}},
                    {.name = "two", .shapes = {{2, 3}, {2, 3}}},
                    {.name = "twenty",
                     .shapes = {{5}, {3, 5}, {5}, {5}, {5}, {5}, {5}, {5}, {1}, {5},
                                {5}, {5},    {5}, {5}, {5}, {5}, {5}, {5}, {5}, {3, 1}}},
                    {.name = "broadcast", .shapes = {{2, 1, 5}, {3, 1}, {5}}}};
          }};
}

// x to the power of a known number, in multiplications where that is short.
Expr power_of(Expr x, double exponent) {
  if (exponent == 0) return ir::constant(x->type, 1);
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  if (exponent == 4) return (x * x) * (x * x);
  if (ir::is_float(x->type.dtype)) {
    if (exponent == 0.5) return ir::sqrt(x);
    if (exponent == -0.5) return 1.0 / ir::sqrt(x);
    if (exponent == -1) return 1.0 / x;
    if (exponent == -2) return 1.0 / (x * x);
  }
  return {};
}

constexpr int64_t max_factors = 64;  // of integers: more than 63 other than 0, 1 and -1 overflow

// The power by a known number of squares.
Expr known_power(const Expr& x, int64_t exponent) {
  Expr power, square = x;
  for (; exponent > 0; exponent /= 2, square = square * square)
    if (exponent % 2) power = power ? power * square : square;
  return power;
}

// Null for integers to the power of what is not known.
Expr power(Expr x, Expr y) {
  Type type = x->type;
  if (ir::is_float(type.dtype)) {
    if (auto known = ir::as_float(y)) {
      if (Expr short_form = power_of(x, *known)) return short_form;
    }
    return ir::pow(x, ir::cast(type, y));
  }
  const auto known = ir::as_float(y);
  if (known && *known == 0) return ir::constant(type, 1);
  if (known && *known == std::floor(*known) && *known > 0 && *known < max_factors)
    return known_power(x, static_cast<int64_t>(*known));
  return {};
}

// Powers of integers as products of `max_factors` numbers, x or 1. More factors than that overflow,
// or are 0, 1 or -1 and only count as even or odd. A negative power of 0 is 0, as a quotient by 0
// is.
Tensor integer_powers(Builder& b, const Shape& shape) {
  const Tensor &base = b.input(0), &exponent = b.input(1);
  const Type type = base.dtype(), type_of_y = exponent.dtype();
  const bool real = ir::is_float(exponent.dtype());
  const auto parity = [](const Expr& count) {
    return ir::binary(ir::BinaryOp::bit_and, count, ir::constant_int(count->type, 1));
  };
  const auto factors = [&](Point p) {
    const Expr y = b.at_broadcast(exponent, p);
    const Expr most = ir::constant(type_of_y, max_factors - 1);
    const Expr few = as_index(ir::max(ir::min(y, most), ir::zero(type_of_y)));
    const Expr whole = ir::cast(real ? Type(DType::i32) : type_of_y, y);
    const Expr many = as_index(parity(whole)) + static_cast<double>(max_factors - 2);
    return ir::select(y < most, few, many);
  };
  return b.reduce(
      stage_name(b), Builder::Join::prod, base.dtype(), shape, {ir::index(max_factors)},
      [&](Point p, Point over) {
        return ir::select(over[0] < factors(p), b.at_broadcast(base, p), ir::constant(type, 1));
      },
      [&](Point p, Expr product) {
        const Expr x = b.at_broadcast(base, p), y = b.at_broadcast(exponent, p);
        if (real) {
          const Expr value = ir::pow(ir::cast(DType::f32, x), ir::cast(DType::f32, y));
          return ir::select(y >= 0.0 && ir::floor(y) == y, product, ir::cast(type, value));
        }
        if (ir::is_unsigned_int(type_of_y.dtype)) return product;
        const Expr one = ir::constant(type, 1);
        Expr inverse = ir::select(x == one, one, ir::zero(type));
        if (!ir::is_unsigned_int(type.dtype)) {
          const Expr minus = ir::constant(type, -1);
          const Expr sign = ir::select(parity(y) == 0.0, one, minus);
          inverse = ir::select(x == minus, sign, inverse);
        }
        return ir::select(y < 0.0, inverse, product);
      });
}

Result<> pow_define(Builder& b) {
  const Tensor &x = b.input(0), &y = b.input(1);
  GS_ASSIGN(const Shape shape, b.broadcast(std::vector<Tensor>{x, y}));
  bool unknown = false;
  const auto value = [&](Point p) {
    Expr made = power(b.at_broadcast(x, p), b.at_broadcast(y, p));
    unknown = !made.get();
    return made;
  };
  // Whether the exponent is a number that is known now.
  value(std::vector<Expr>(shape.size(), ir::index(0)));
  b.output(0,
           unknown ? integer_powers(b, shape) : b.compute(stage_name(b), x.dtype(), shape, value));
  return {};
}

Result<> mod_define(Builder& b) {
  GS_TRY(same_types(b));
  bool like_c = b.integer("fmod") != 0;
  return elementwise(b, b.input(0).dtype(), [&](std::span<const Expr> x) {
    if (like_c) return ir::binary(ir::BinaryOp::rem, x[0], x[1]);
    Expr result = ir::floormod(x[0], x[1]);
    if (!ir::is_float(result->type.dtype)) return result;
    // A remainder of zero has the sign of the divisor, too.
    const auto zero = [&](double value) { return ir::constant(result->type, value); };
    return ir::select(result == 0.0, ir::select(x[1] < 0.0, zero(-0.0), zero(0.0)), result);
  });
}

}  // namespace

std::vector<OpDef> binary_family() {
  return {
      arithmetic("Add", "A + B.", [](Expr a, Expr b) { return a + b; }),
      arithmetic("Sub", "A - B.", [](Expr a, Expr b) { return a - b; }),
      arithmetic("Mul", "A * B.", [](Expr a, Expr b) { return a * b; }),
      arithmetic(
          "Div", "A / B; integers truncate.", [](Expr a, Expr b) { return a / b; }, 0.5, 4),
      variadic(
          "Sum", "The sum of all inputs.", 13, [](Expr a, Expr b) { return a + b; }, any_number),
      variadic(
          "Mean", "The mean of all inputs.", 13, [](Expr a, Expr b) { return a + b; }, any_float,
          true),
      variadic(
          "Max", "The largest of all inputs.", 13, [](Expr a, Expr b) { return ir::max(a, b); },
          any_number),
      variadic(
          "Min", "The smallest of all inputs.", 13, [](Expr a, Expr b) { return ir::min(a, b); },
          any_number),
      {.name = "Pow",
       .doc = "X to the power of Y, of X's type.",
       .since = 15,
       .inputs = {{"X", any_number}, {"Y", any_number}},
       .outputs = {"Z"},
       .define = pow_define,
       .cases = [] -> Cases {
         return {{.name = "same", .shapes = {{3, 5}, {3, 5}}, .low = 0.5, .high = 3},
                 {.name = "square", .shapes = {{3, 5}}, .inputs = {{}, floats({}, {2})}},
                 {.name = "cube of negative", .shapes = {{7}}, .inputs = {{}, floats({}, {3})}},
                 {.name = "root", .shapes = {{7}}, .inputs = {{}, floats({1}, {0.5})}, .low = 0},
                 {.name = "integer exponent",
                  .inputs = {floats({3}, {1, 2, 3}), int64s({3}, {4, 5, 6})}},
                 {.name = "integers", .inputs = {int32s({3}, {1, 2, 3}), int32s({3}, {4, 5, 6})}},
                 {.name = "large integers",
                  .inputs = {int32s({9}, {3, 7, -7, 2, -1, 1, 2, 0, -46341}),
                             int32s({9}, {19, 10, 9, 31, -3, -2, -1, 0, 2})}},
                 {.name = "wide integers",
                  .inputs = {int64s({4}, {3, 7, -7, 10}), int64s({4}, {19, 10, 9, 9})}},
                 {.name = "integers by a known float",
                  .inputs = {int32s({3}, {3, 7, -5}), floats({}, {10})}},
                 {.name = "integers by floats",
                  .inputs = {int32s({4}, {3, 7, 9, 4}), floats({4}, {19, 10, 0.5f, 1.5f})}}};
       }},
      {.name = "Mod",
       .doc = "The remainder, with the sign of B, or of A with `fmod`.",
       .since = 28,
       .inputs = {{"A", any_number}, {"B", any_number}},
       .outputs = {"C"},
       .attributes = {{"fmod", 0}},
       .define = mod_define,
       .cases = [] -> Cases {
         return {{.name = "integers",
                  .inputs = {int32s({6}, {-4, 7, 5, 4, -7, 8}), int32s({6}, {2, -3, 8, -2, 3, 5})}},
                 {.name = "fmod",
                  .attributes = {{"fmod", 1}},
                  .inputs = {floats({6}, {-4.3f, 7.2f, 5, 4.3f, -7.2f, 8}),
                             floats({6}, {2.1f, -3.4f, 8, -2.1f, 3.4f, 5})}},
                 {.name = "fmod with large quotients",
                  .attributes = {{"fmod", 1}},
                  .inputs = {floats({8}, {1e9f, 1e8f, 1000000.5f, 3e38f, -3e38f, 3e38f, -2, 7}),
                             floats({8}, {7, 7, 0.7f, 7, 3, 1e-30f, 1e-37f, -7})}},
                 {.name = "floats with large quotients",
                  .inputs = {floats({6}, {1e9f, -1e8f, 1000000.5f, 3e38f, -3e38f, 3e38f}),
                             floats({6}, {7, 7, -0.7f, 7, 3, -1e-30f})}},
                 {.name = "floats, and what is infinite or zero",
                  .inputs = {floats({10}, {-4.3f, 7.2f, 5, -7.2f, 0, 0, 5, -5, 5, -5}),
                             floats({10}, {2.1f, -3.4f, 8, 3.4f, 3, -3, inf, inf, -inf, -inf})}},
                 {.name = "broadcast",
                  .shapes = {{3, 5}, {5}},
                  .dtype = DType::i64,
                  .low = 1,
                  .high = 40}};
       }},
  };
}

}  // namespace gossamer::ops
