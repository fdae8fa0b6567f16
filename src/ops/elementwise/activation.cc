// Activations: functions of one element with parameters.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

using Activation = Expr (*)(const Builder& b, Expr x);

Cases activation_cases(const std::vector<Attributes>& tried) {
  Cases cases = {{.name = "default", .shapes = {{3, 4, 5}}, .low = -4, .high = 4},
                 {.name = "odd", .shapes = {{1, 13}}, .low = -4, .high = 4}};
  for (const Attributes& some : tried) {
    cases.push_back({.name = cat("attributes", cases.size() - 1),
                     .shapes = {{2, 7}},
                     .attributes = some,
                     .low = -4,
                     .high = 4});
  }
  return cases;
}

OpDef activation(std::string name, Doc doc, int since, std::vector<AttributeDef> attributes,
                 Activation function, std::vector<Attributes> tried = {},
                 TypeSet types = any_float) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"X", types}},
          .attributes = std::move(attributes),
          .define =
              [function](Builder& b) {
                return elementwise(b, b.input(0).dtype(),
                                   [&](std::span<const Expr> x) { return function(b, x[0]); });
              },
          .cases = [tried = std::move(tried)] { return activation_cases(tried); }};
}

Expr gelu(const Builder& b, Expr x) {
  if (b.text("approximate") == "tanh") {
    Expr inner = (x + x * x * x * 0.044715) * std::sqrt(2 / 3.14159265358979323846);
    return x * 0.5 * (ir::tanh(inner) + 1.0);
  }
  return x * 0.5 * (ir::erf(x * std::sqrt(0.5)) + 1.0);
}

Expr celu(const Builder& b, Expr x) {
  double alpha = b.number("alpha");
  return ir::select(x > 0.0, x, exp_minus_one(x / alpha) * alpha);
}

Expr selu(const Builder& b, Expr x) { return elu(x, b.number("alpha")) * b.number("gamma"); }

Expr shrink(const Builder& b, Expr x) {
  double edge = b.number("lambd"), bias = b.number("bias");
  if (DType dtype = x->type.dtype; !ir::is_float(dtype))
    return ir::cast(dtype, shrink(b, ir::cast(DType::f32, x)));
  return ir::select(x < -edge, x + bias, ir::select(x > edge, x - bias, ir::zero(x->type)));
}

Result<> prelu(Builder& b) {
  GS_TRY(same_types(b));
  return elementwise(b, b.input(0).dtype(),
                     [](std::span<const Expr> x) { return leaky_relu(x[0], x[1]); });
}

Result<> clip(Builder& b) {
  GS_TRY(same_types(b));
  const Tensor& x = b.input(0);
  for (int i : {1, 2}) {
    if (b.has(i) &&
        !ir::is_const(b.simplify(b.input(i).rank() ? b.input(i).dim(0) : ir::index(1)), 1)) {
      return b.error("bounds must be scalars");
    }
  }
  b.output(0, b.compute("clip", x.dtype(), x.shape(), [&](Point point) {
    auto bound = [&](int i) {
      std::vector<Expr> origin(static_cast<size_t>(b.input(i).rank()), ir::index(0));
      return b.at_broadcast(b.input(i), origin);
    };
    Expr value = x.at(point);
    if (b.has(1)) value = ir::max(value, bound(1));
    if (b.has(2)) value = ir::min(value, bound(2));
    return value;
  }));
  return {};
}

Result<> swiglu(Builder& b) {
  GS_TRY(same_types(b));
  if (b.input(0).rank() != b.input(1).rank()) return b.error("A and B differ in shape");
  for (int i = 0; i < b.input(0).rank(); ++i) {
    GS_TRY(b.require(b.input(0).dim(i) == b.input(1).dim(i), "A and B differ in shape"));
  }
  return elementwise(b, b.input(0).dtype(), [&](std::span<const Expr> x) {
    return x[0] * sigmoid(x[0] * b.number("alpha")) * x[1];
  });
}

}  // namespace

std::vector<OpDef> activation_family() {
  return {
      activation("Celu", "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).", 28, {{"alpha", 1.0}},
                 celu, {{{"alpha", 2.0}}}),
      activation("Elu", "alpha * (exp(x) - 1) below 0, x above.", 22, {{"alpha", 1.0}},
                 [](const Builder& b, Expr x) { return elu(x, b.number("alpha")); },
                 {{{"alpha", 2.0}}}),
      activation("Gelu", "x times the normal distribution's share below x.", 20,
                 {{"approximate", "none"}}, gelu, {{{"approximate", "tanh"}}}),
      activation("HardSigmoid", "alpha * x + beta, kept in [0, 1].", 22,
                 {{"alpha", 0.2}, {"beta", 0.5}},
                 [](const Builder& b, Expr x) {
                   return ir::max(ir::min(x * b.number("alpha") + b.number("beta"), 1.0), 0.0);
                 },
                 {{{"alpha", 0.5}, {"beta", 0.6}}}),
      activation("HardSwish", "x * HardSigmoid(x; 1/6, 1/2).", 22, {},
                 [](const Builder&, Expr x) {
                   return x * ir::max(ir::min(x * (1.0 / 6) + 0.5, 1.0), 0.0);
                 }),
      activation("LeakyRelu", "alpha * x below 0, x above.", 16, {{"alpha", 0.01}},
                 [](const Builder& b, Expr x) {
                   return leaky_relu(x, ir::constant(x->type, b.number("alpha")));
                 },
                 {{{"alpha", 0.1}}}),
      activation("Mish", "x * tanh(softplus(x)).", 22, {},
                 [](const Builder&, Expr x) { return x * ir::tanh(softplus(x)); }),
      activation(
          "Relu", "max(0, x).", 14, {}, [](const Builder&, Expr x) { return ir::max(x, 0.0); }, {},
          any_float | any_signed),
      activation("Selu", "Scaled exponential linear unit.", 22,
                 {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}}, selu,
                 {{{"alpha", 2.0}, {"gamma", 3.0}}}),
      activation("Shrink", "0 within lambd of 0, bias nearer to 0 outside.", 9,
                 {{"bias", 0.0}, {"lambd", 0.5}}, shrink, {{{"bias", 1.5}, {"lambd", 1.5}}},
                 any_number),
      activation("Sigmoid", "1 / (1 + exp(-x)).", 13, {},
                 [](const Builder&, Expr x) { return sigmoid(x); }),
      activation("Softplus", "log(1 + exp(x)).", 22, {},
                 [](const Builder&, Expr x) { return softplus(x); }),
      activation("Softsign", "x / (1 + |x|).", 22, {},
                 [](const Builder&, Expr x) { return x / (ir::abs(x) + 1.0); }),
      activation("Swish", "x * sigmoid(alpha * x).", 24, {{"alpha", 1.0}},
                 [](const Builder& b, Expr x) { return x * sigmoid(x * b.number("alpha")); },
                 {{{"alpha", 1.5}}}),
      activation("ThresholdedRelu", "x above alpha, 0 elsewhere.", 22, {{"alpha", 1.0}},
                 [](const Builder& b, Expr x) {
                   return ir::select(x > b.number("alpha"), x, ir::zero(x->type));
                 },
                 {{{"alpha", 2.0}}}),
      {.name = "SwiGLU",
       .doc = "A * sigmoid(alpha * A) * B.",
       .since = 28,
       .inputs = {{"A", any_float}, {"B", any_float}},
       .attributes = {{"alpha", 1.0}},
       .define = swiglu,
       .cases = [] -> Cases {
         return {{.name = "default", .shapes = {{3, 4}, {3, 4}}},
                 {.name = "sharp", .shapes = {{7}, {7}}, .attributes = {{"alpha", 1.7}}}};
       }},
      {.name = "PRelu",
       .doc = "slope * x below 0, x above.",
       .since = 16,
       .inputs = {{"X", any_number}, {"slope", any_number}},
       .define = prelu,
       .cases = [] -> Cases {
         return {{.name = "same", .shapes = {{3, 4, 5}, {3, 4, 5}}},
                 {.name = "channel", .shapes = {{2, 3, 4}, {3, 1}}},
                 {.name = "one", .shapes = {{2, 5}, {1}}},
                 {.name = "more slopes", .shapes = {{4, 5}, {2, 4, 1}}}};
       }},
      {.name = "Clip",
       .doc = "Keeps x within [min, max].",
       .since = 13,
       .inputs = {{"input", any_number},
                  {"min", any_number, InputDef::optional},
                  {"max", any_number, InputDef::optional}},
       .define = clip,
       .cases = [] -> Cases {
         return {{.name = "both",
                  .shapes = {{3, 5}},
                  .inputs = {{}, floats({}, {-1}), floats({}, {1})}},
                 {.name = "max", .shapes = {{7}, {-1}, {}}},
                 {.name = "none", .shapes = {{2, 3}}},
                 {.name = "integers",
                  .shapes = {{9}, {}, {}},
                  .dtype = DType::i32,
                  .low = -9,
                  .high = 9}};
       }},
  };
}

}  // namespace gossamer::ops
