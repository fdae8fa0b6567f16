// Steps of training (domain ai.onnx.preview.training): a parameter, its gradient and its moments
// become new ones. Inputs are the rate R, the count T of updates so far, then all parameters, all
// gradients, all first moments and so on; outputs all new parameters, then their new moments.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"

namespace gossamer::ops {
namespace {

// What one parameter's element and its moments become.
using Rule = std::vector<Expr> (*)(const Builder& b, Expr rate, Expr count, Expr x, Expr gradient,
                                   std::vector<Expr> moments);

Expr regularized(const Builder& b, const Expr& x, const Expr& gradient) {
  return x * b.number("norm_coefficient") + gradient;
}

std::vector<Expr> adagrad(const Builder& b, Expr rate, Expr count, Expr x, Expr gradient,
                          std::vector<Expr> moments) {
  Expr g = regularized(b, x, gradient), squares = moments[0] + g * g;
  Expr adjusted = rate / (count * b.number("decay_factor") + 1.0);
  return {x - adjusted * g / (norm_of(squares) + b.number("epsilon")), squares};
}

std::vector<Expr> adam(const Builder& b, Expr rate, Expr count, Expr x, Expr gradient,
                       std::vector<Expr> moments) {
  double alpha = b.number("alpha"), beta = b.number("beta");
  Expr g = regularized(b, x, gradient);
  Expr first = moments[0] * alpha + g * (1 - alpha);
  Expr second = moments[1] * beta + g * g * (1 - beta);
  auto rest = [&](double base) { return 1.0 - ir::pow(ir::constant(x->type, base), count); };
  // The first update takes the moments as they are.
  Expr adjusted = ir::select(count > 0.0, rate * ir::sqrt(rest(beta)) / rest(alpha), rate);
  Expr next = x - adjusted * (first / (norm_of(second) + b.number("epsilon")));
  return {next * (1 - b.number("norm_coefficient_post")), first, second};
}

std::vector<Expr> momentum(const Builder& b, Expr rate, Expr count, Expr x, Expr gradient,
                           std::vector<Expr> moments) {
  double alpha = b.number("alpha");
  Expr g = regularized(b, x, gradient);
  Expr share =
      ir::select(count > 0.0, ir::constant(x->type, b.number("beta")), ir::constant(x->type, 1));
  Expr next = moments[0] * alpha + g * share;
  return {x - rate * (b.text("mode") == "nesterov" ? g + next * alpha : next), next};
}

Result<> step(Builder& b, size_t moments, Rule rule) {
  int each = static_cast<int>(moments) + 2;
  int parameters = (b.input_count() - 2) / each;
  if (parameters < 1 || (b.input_count() - 2) % each != 0)
    return b.error(cat("has ", b.input_count(), " inputs, not 2 and ", each, " a parameter"));
  if (b.output_count() > parameters * (each - 1))
    return b.error(cat("has ", b.output_count(), " outputs, not ", each - 1, " a parameter"));
  if (std::string mode = b.def().name == "Momentum" ? b.text("mode") : "standard";
      mode != "standard" && mode != "nesterov")
    return b.error(cat("`mode` is \"", mode, "\""), "it must be standard or nesterov");
  auto scalar = [&](int i, DType dtype) {
    const Tensor& tensor = b.input(i);
    std::vector<Expr> origin(static_cast<size_t>(tensor.rank()), ir::index(0));
    return ir::cast(dtype, b.at_broadcast(tensor, origin));
  };
  for (int i = 0; i < parameters; ++i) {
    const Tensor& x = b.input(2 + i);
    std::vector<Tensor> all;
    for (int k = 0; k < each; ++k) {
      all.push_back(b.input(2 + i + k * parameters));
      if (all.back().dtype() != x.dtype() || !ir::is_float(x.dtype()))
        return b.error("a parameter, its gradient and its moments are of one float type");
      if (all.back().rank() != x.rank())
        return b.error("a parameter, its gradient and its moments differ in shape");
      for (int d = 0; d < x.rank(); ++d) {
        GS_TRY(b.require(all.back().dim(d) == x.dim(d),
                         "a parameter, its gradient and its moments differ in shape"));
      }
    }
    for (int k = 0; k < each - 1; ++k) {
      if (!b.wants(i + k * parameters)) continue;
      b.output(i + k * parameters, b.compute(stage_name(b), x.dtype(), x.shape(), [&](Point p) {
        std::vector<Expr> old;
        for (size_t m = 0; m < moments; ++m) old.push_back(all[2 + m].at(p));
        Expr rate = scalar(0, x.dtype()), count = scalar(1, x.dtype());
        return rule(b, rate, count, x.at(p), all[1].at(p), old)[static_cast<size_t>(k)];
      }));
    }
  }
  return {};
}

OpDef optimizer(std::string name, Doc doc, size_t moments, std::vector<AttributeDef> attributes,
                Rule rule, Attributes sample) {
  TypeSet reals = only(DType::f32) | only(DType::f64);
  std::vector<std::vector<int64_t>> one = {{}, {}}, two = {{}, {}};
  for (size_t i = 0; i < moments + 2; ++i) {
    one.push_back({3, 4});
    two.push_back({2});
    two.push_back({5});
  }
  std::vector<TensorData> first = {floats({}, {0.1f}), int64s({}, {0})},
                          later = {floats({}, {0.1f}), int64s({}, {3})};
  return {.name = std::move(name),
          .doc = std::move(doc),
          .domain = "ai.onnx.preview.training",
          .since = 1,
          .inputs = {{"R", reals}, {"T", only(DType::i64)}, {"inputs", reals, InputDef::variadic}},
          .outputs = {"outputs"},
          .attributes = std::move(attributes),
          .define = [moments, rule](Builder& b) { return step(b, moments, rule); },
          .cases = [=] -> Cases {
            return {{.name = "first",
                     .shapes = one,
                     .attributes = sample,
                     .inputs = first,
                     .low = 0.1,
                     .outputs = static_cast<int>(moments) + 1},
                    {.name = "two parameters",
                     .shapes = two,
                     .attributes = sample,
                     .inputs = later,
                     .low = 0.1,
                     .outputs = 2 * static_cast<int>(moments) + 2}};
          }};
}

}  // namespace

std::vector<OpDef> optimizer_family() {
  auto needed = [](std::string name) { return AttributeDef{std::move(name), {}, true}; };
  return {
      optimizer("Adagrad", "Gradient descent, slower where gradients were large.", 1,
                {{"decay_factor", 0.0}, {"epsilon", 1e-6}, {"norm_coefficient", 0.0}}, adagrad,
                {{"decay_factor", 0.1}, {"epsilon", 1e-5}, {"norm_coefficient", 0.001}}),
      optimizer("Adam", "Gradient descent by running means of gradients and their squares.", 2,
                {{"alpha", 0.9},
                 {"beta", 0.999},
                 {"epsilon", 1e-6},
                 {"norm_coefficient", 0.0},
                 {"norm_coefficient_post", 0.0}},
                adam, {{"alpha", 0.95}, {"beta", 0.1}, {"norm_coefficient", 0.001}}),
      optimizer("Momentum", "Gradient descent by a running sum of gradients.", 1,
                {needed("alpha"), needed("beta"), needed("mode"), needed("norm_coefficient")},
                momentum,
                {{"alpha", 0.95}, {"beta", 1.0}, {"mode", "nesterov"}, {"norm_coefficient", 0.01}}),
  };
}

}  // namespace gossamer::ops
