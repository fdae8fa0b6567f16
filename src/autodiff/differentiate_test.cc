// Gradients of every operator of the catalog, by finite differences on the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autodiff/run_gradient_test.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::autodiff {
namespace {

using ir::DType;
using ops::Case;
using ops::OpDef;
using ops::TensorData;

constexpr int64_t most_elements = 5000;  // of a case: the interpreter is slow

bool is_variable(DType dtype) { return ir::is_float(dtype) && !ir::is_small(dtype); }

// The inputs with 64-bit floats wherever the operator takes them.
std::vector<TensorData> as_doubles(const OpDef& def, const Case& test,
                                   const std::vector<TensorData>& inputs) {
  std::vector<TensorData> made = inputs;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].bytes.empty() || !is_variable(made[i].dtype)) continue;
    if (ops::input_of(def, test, i).types & ops::only(DType::f64))
      made[i] = data_of(DType::f64, made[i].shape, numbers_of(made[i]));
  }
  return made;
}

struct Evaluated {
  double value = 0;  // of the weighted outputs
  std::vector<std::vector<double>> gradients;
};

std::optional<Evaluated> evaluate(const GradientOfCase& of, const std::vector<TensorData>& inputs) {
  const auto memory = run_gradient(of, [&](interp::Values& values) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (of.made.inputs[i] && is_variable(of.made.inputs[i].dtype()))
        values[of.made.inputs[i].buffer.get()] = inputs[i];
    }
  });
  EXPECT_TRUE(memory) << (memory ? "" : memory.error().to_string());
  if (!memory) return std::nullopt;
  Evaluated result;
  for (size_t j = 0; j < of.outputs.size(); ++j) {
    const std::vector<double> y = numbers_of(memory->at(of.outputs[j].buffer.get()));
    const std::vector<double> weights = of.weights[j]
                                            ? numbers_of(memory->at(of.weights[j].buffer.get()))
                                            : std::vector<double>(y.size(), 1);
    for (size_t i = 0; i < y.size(); ++i) {
      if (std::isfinite(y[i])) result.value += y[i] * weights[i];
    }
  }
  result.gradients = numbers_of(of.made.outputs, *memory);
  return result;
}

class GradientTest : public testing::TestWithParam<const OpDef*> {};

// Where a difference says nothing of the derivative. An empty case is all of them.
struct Kink {
  std::string_view op, test;
  int input;  // -1: all
  std::string_view reason;
};
constexpr Kink kinks[] = {
    {"StopGradient", "", -1, "is there to have none"},
    {"Pow", "", 1, "the powers of negative numbers are no function of the exponent"},
    {"Mod", "floats, and what is infinite or zero", -1, "jumps"},
    {"Mod", "fmod with large quotients", -1, "jumps"},
    {"Mod", "floats with large quotients", -1, "jumps"},
    {"Acosh", "special", -1, "is infinitely steep at 1, and not a number below"},
    {"Sin", "special", -1, "a step from a large angle is many turns"},
    {"Cos", "special", -1, "a step from a large angle is many turns"},
    {"Tan", "special", -1, "a step from a large angle is many turns"},
    {"TopK", "ties", -1, "equals trade places"},
    {"Unique", "", -1, "equals become different"},
    {"Attention", "special scores", -1, "is not a number where a score is not"},
    {"Attention", "special operands", -1, "is not a number where an operand is infinite"},
    {"Imputer", "", -1, "what is replaced is one number"},
    {"Det", "singular", -1, "elimination goes on without a column of zeros"},
    {"TreeEnsemble", "", -1, "jumps"},
    {"MaxRoiPool", "", 1, "regions are rounded"},
    {"Resize", "", 2, "scales decide the size of the result"},
    {"RoiAlign", "", 1, "the number of samples jumps, the largest is another"},
    {"CropAndResize", "", 1, "what is outside jumps"},
    {"DynamicQuantizeMatMul", "", -1, "rounds"},
    {"DynamicQuantizeLSTM", "", -1, "rounds"},
    {"QGemm", "real", -1, "rounds"},
};

bool is_kink(const OpDef& def, const Case& test, size_t input) {
  return std::ranges::any_of(kinks, [&](const Kink& kink) {
    return kink.op == def.name && (kink.test.empty() || kink.test == test.name) &&
           (kink.input < 0 || static_cast<size_t>(kink.input) == input);
  });
}

// The coarsest type of floats that the stages compute in.
DType precision_of(const GradientOfCase& of) {
  DType coarsest = DType::f64;
  const auto look = [&](const ir::Expr& e) {
    const DType dtype = e->type.dtype;
    if (is_variable(dtype) && ir::byte_size(dtype) < ir::byte_size(coarsest)) coarsest = dtype;
    return true;
  };
  for (const ops::Tensor& input : of.made.inputs) {
    if (input && is_variable(input.dtype()) && ir::byte_size(input.dtype()) < 8)
      coarsest = DType::f32;
  }
  for (const stages::Stage& stage : stages::stages_of(of.made.builder->program)) {
    if (stage.result) ir::visit(stage.result, look);
    for (const ir::Expr& value : stage.values) ir::visit(value, look);
  }
  return coarsest;
}

struct Allowance {
  double step, relative, noise;
};
Allowance allowance_of(DType dtype) {
  if (dtype == DType::f64) return {1e-6, 1e-5, 1e-14};
  if (dtype == DType::f32) return {2e-3, 1e-2, 4e-7};
  return {0.06, 0.1, 2e-3};
}

// The derivative along a direction, of each input by itself.
void check_directions(const OpDef& def, const Case& test, const GradientOfCase& of,
                      const std::vector<TensorData>& inputs) {
  if (of.outputs.empty()) return;  // without floats, every difference is 0
  const auto here = evaluate(of, inputs);
  if (!here) return;
  const Allowance allowance = allowance_of(precision_of(of));
  for (size_t k = 0; k < of.xs.size() + of.none.size(); ++k) {
    const bool has = k < of.xs.size();
    const size_t x = has ? of.xs[k] : of.none[k - of.xs.size()];
    if (is_kink(def, test, x)) continue;
    const double step = allowance.step;
    std::vector<double> values = numbers_of(inputs[x]), forth = values, back = values;
    double expected = 0, scale = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double direction = static_cast<double>((i * 5 + 2) % 7) / 4 - 0.75;
      forth[i] += step * direction;
      back[i] -= step * direction;
      if (!has) continue;
      ASSERT_TRUE(std::isfinite(here->gradients[k][i])) << "input " << x << " at " << i;
      expected += here->gradients[k][i] * direction;
      scale += std::abs(here->gradients[k][i] * direction);
    }
    std::vector<TensorData> changed = inputs;
    changed[x] = data_of(inputs[x].dtype, inputs[x].shape, forth);
    const auto after = evaluate(of, changed);
    changed[x] = data_of(inputs[x].dtype, inputs[x].shape, back);
    const auto before = evaluate(of, changed);
    if (!after || !before) return;
    const double found = (after->value - before->value) / (2 * step);
    const double allowed =
        allowance.relative * (1 + scale) + allowance.noise * (1 + std::abs(here->value)) / step;
    EXPECT_NEAR(found, expected, allowed) << "input " << x;
  }
}

TEST_P(GradientTest, IsThatOfFiniteDifferences) {
  const OpDef& def = *GetParam();
  for (const Case& test : def.cases()) {
    SCOPED_TRACE(test.name);
    std::vector<TensorData> inputs = ops::case_inputs(def, test);
    if (size_of(inputs) > most_elements) continue;
    GradientOfCase of = gradient_of_case(def, test, as_doubles(def, test, inputs));
    if (of.made.status) {
      inputs = as_doubles(def, test, inputs);
    } else {
      of = gradient_of_case(def, test, inputs);
    }
    ASSERT_TRUE(of.made.status) << of.made.status.error().to_string();
    check_directions(def, test, of, inputs);
  }
}

// Gradients of gradients, of operators that are smooth where their cases are.
TEST(SecondGradient, IsThatOfFiniteDifferences) {
  for (const char* name : {"Exp",
                           "Tanh",
                           "Sigmoid",
                           "Erf",
                           "Gelu",
                           "Sin",
                           "Softplus",
                           "Mish",
                           "Div",
                           "Mul",
                           "Softmax",
                           "LogSoftmax",
                           "ReduceLogSumExp",
                           "ReduceProd",
                           "ReduceL2",
                           "ReduceSumSquare",
                           "CumProd",
                           "CumSum",
                           "MatMul",
                           "Gemm",
                           "Conv",
                           "ConvTranspose",
                           "AveragePool",
                           "LayerNormalization",
                           "BatchNormalization",
                           "Attention",
                           "Gather",
                           "ScatterElements",
                           "Einsum",
                           "GRU",
                           "LSTM",
                           "SoftmaxCrossEntropyLoss",
                           "DFT",
                           "Where",
                           "Concat",
                           "Pad",
                           "Transpose",
                           "Reshape"}) {
    SCOPED_TRACE(name);
    const OpDef& def = *ops::builtin_catalog().find("", name);
    int cases = 0;
    for (const Case& test : def.cases()) {
      SCOPED_TRACE(test.name);
      const std::vector<TensorData> inputs = as_doubles(def, test, ops::case_inputs(def, test));
      if (size_of(inputs) > most_elements / 10) continue;
      const GradientOfCase of = second_gradient_of_case(def, test, inputs);
      ASSERT_TRUE(of.made.status) << of.made.status.error().to_string();
      check_directions(def, test, of, inputs);
      if (++cases == 2) break;
    }
  }
}

std::vector<const OpDef*> entries() {
  std::vector<const OpDef*> found;
  for (const OpDef& def : ops::builtin_catalog().entries()) found.push_back(&def);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Catalog, GradientTest, testing::ValuesIn(entries()),
                         [](const auto& info) { return test_name(*info.param); });

}  // namespace
}  // namespace gossamer::autodiff
