// Functions of one element: mathematics, signs, rounding.
#include "ops/elementwise.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

using UnaryFunction = Expr (*)(Expr);

Cases unary_cases(double low, double high, const std::vector<float>& special) {
  Cases cases = {{.name = "cube", .shapes = {{2, 3, 5}}, .low = low, .high = high},
                 {.name = "odd", .shapes = {{37}}, .low = low, .high = high},
                 {.name = "scalar", .shapes = {{}}, .low = low, .high = high}};
  if (!special.empty()) {
    const auto count = static_cast<int64_t>(special.size());
    cases.push_back({.name = "special", .inputs = {floats({count}, special)}});
  }
  return cases;
}

OpDef unary(std::string name, Doc doc, int since, UnaryFunction function, double low = -2,
            double high = 2, TypeSet types = any_float, std::vector<float> special = {}) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"X", types}},
          .define =
              [function](Builder& b) {
                return elementwise(b, b.input(0).dtype(),
                                   [&](std::span<const Expr> x) { return function(x[0]); });
              },
          .cases = [=] { return unary_cases(low, high, special); }};
}

Expr sign(Expr x) {
  Expr one = ir::constant(x->type, 1);
  if (ir::is_unsigned_int(x->type.dtype)) return ir::min(x, one);
  // Zeros and NaN stay what they are; trunc has no slope.
  const Expr rest = ir::is_float(x->type.dtype) ? ir::trunc(x) : x;
  return ir::select(x > 0, one, ir::select(x < 0, ir::constant(x->type, -1), rest));
}

Result<> identity(Builder& b) {
  b.output_item(0, b.item(0));
  return {};
}

// Small floats have no arithmetic of their own.
Expr computable(const Expr& x) { return ir::is_small(x->type.dtype) ? ir::cast(DType::f32, x) : x; }

Result<> is_inf_define(Builder& b) {
  bool positive = b.integer("detect_positive") != 0, negative = b.integer("detect_negative") != 0;
  return elementwise(b, DType::boolean, [&](std::span<const Expr> of) -> Expr {
    Expr x = computable(of[0]);
    if (positive && negative) return ir::is_inf(x);
    if (positive) return ir::is_inf(x) && x > 0;
    if (negative) return ir::is_inf(x) && x < 0;
    return ir::boolean(false);
  });
}

Result<> is_nan_define(Builder& b) {
  return elementwise(b, DType::boolean,
                     [](std::span<const Expr> x) { return ir::is_nan(computable(x[0])); });
}

}  // namespace

std::vector<OpDef> unary_family() {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> angles = {0,     1e-6f, 3.1415927f, 1e5f,  -2e5f,  1e6f, 12345678, 1e8f,
                                     -6e8f, 4e9f,  1e12f,      1e20f, -3e38f, inf,  -inf,     nan};
  return {
      unary("Abs", "Absolute value.", 13, ir::abs, -2, 2, any_number),
      unary("Acos", "Inverse cosine.", 22, ir::acos, -1, 1),
      unary("Acosh", "Inverse hyperbolic cosine.", 22, ir::acosh, 1, 9, any_float,
            {1, 1.0001f, 1e10f, 1e30f, 0.5f, 0, -1, -1e10f, -1e20f, inf, -inf, nan}),
      unary("Asin", "Inverse sine.", 22, ir::asin, -1, 1),
      unary("Asinh", "Inverse hyperbolic sine.", 22, ir::asinh, -9, 9),
      unary("Atan", "Inverse tangent.", 22, ir::atan, -9, 9),
      unary("Atanh", "Inverse hyperbolic tangent.", 22, ir::atanh, -0.95, 0.95),
      unary("Ceil", "Rounds up.", 13, ir::ceil, -9, 9),
      unary("Cos", "Cosine.", 22, ir::cos, -9, 9, any_float, angles),
      unary("Cosh", "Hyperbolic cosine.", 22, ir::cosh),
      unary(
          "Erf", "Error function.", 13,
          [](Expr x) {
            if (ir::is_float(x->type.dtype)) return ir::erf(x);
            return ir::cast(x->type.dtype, ir::erf(ir::cast(DType::f32, x)));
          },
          -3, 3, any_number),
      unary("Exp", "e to the power of x.", 13, ir::exp),
      unary("Floor", "Rounds down.", 13, ir::floor, -9, 9),
      unary("Log", "Natural logarithm.", 13, ir::log, 0.01, 9),
      unary(
          "Neg", "Negates.", 13, [](Expr x) { return -x; }, -2, 2, any_float | any_signed),
      unary(
          "Reciprocal", "1 / x.", 13, [](Expr x) { return 1.0 / x; }, 0.25, 4),
      unary("Round", "Rounds to the nearest integer, halves to even.", 22, ir::round, -9, 9),
      unary("Sign", "-1, 0 or 1.", 13, sign, -2, 2, any_number),
      unary("Sin", "Sine.", 22, ir::sin, -9, 9, any_float, angles),
      unary("Sinh", "Hyperbolic sine.", 22, ir::sinh),
      unary("Sqrt", "Square root.", 13, ir::sqrt, 0, 9),
      unary("Tan", "Tangent.", 22, ir::tan, -1.4, 1.4, any_float, angles),
      unary("Tanh", "Hyperbolic tangent.", 13, ir::tanh, -4, 4),
      {.name = "Identity",
       .doc = "The input itself.",
       .since = 25,
       .inputs = {{"input", any_element, InputDef::required, InputDef::any}},
       .define = identity,
       .cases = [] -> Cases {
         return {{.name = "matrix", .shapes = {{3, 4}}},
                 {.name = "scalar", .shapes = {{}}},
                 {.name = "sequence", .shapes = {{2}, {3}}, .length = 2}};
       }},
      {.name = "IsInf",
       .doc = "Where x is infinite, of the signs asked for.",
       .since = 20,
       .inputs = {{"X", any_float | small_floats}},
       .attributes = {{"detect_negative", 1}, {"detect_positive", 1}},
       .define = is_inf_define,
       .cases = [] -> Cases {
         return {
             {.name = "both", .inputs = {floats({2, 3}, {inf, -inf, nan, 0, 1, -3})}},
             {.name = "negative",
              .attributes = {{"detect_positive", 0}},
              .inputs = {floats({5}, {inf, -inf, nan, 0, 1})}},
             {.name = "positive",
              .attributes = {{"detect_negative", 0}},
              .inputs = {floats({5}, {inf, -inf, nan, 0, 1})}},
             {.name = "small", .inputs = {codes(DType::f8e5m2, {4}, {0x7c, 0xfc, 0x7d, 0x3c})}}};
       }},
      {.name = "IsNaN",
       .doc = "Where x is not a number.",
       .since = 20,
       .inputs = {{"X", any_float | small_floats}},
       .define = is_nan_define,
       .cases = [] -> Cases {
         return {{.name = "some", .inputs = {floats({2, 3}, {inf, -inf, nan, 0, nan, -3})}},
                 {.name = "none", .shapes = {{3, 7}}},
                 {.name = "small", .inputs = {codes(DType::f8e4m3fn, {4}, {0x7f, 0xff, 0, 0x7e})}}};
       }},
  };
}

}  // namespace gossamer::ops
