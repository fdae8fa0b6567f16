// Operators on quantised tensors in ONNX Runtime's domain: what the standard operators make of the
// real numbers, quantised.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/nn/quantize.h"
#include "ops/reduction/reduce.h"

namespace gossamer::ops {
namespace {

// Outputs x as `dtype`, by the scale and zero point that these inputs are.
Result<> requantized(Builder& b, const Tensor& x, int scale, int zero, DType dtype) {
  Tensor zero_point = b.input(zero);
  if (!zero_point) zero_point = b.scalar(dtype, 0);
  GS_ASSIGN(Tensor made, b.call1("QuantizeLinear", {x, b.input(scale), zero_point}));
  b.output(0, made);
  return {};
}

// Arithmetic on quantised tensors: A, its scale and zero point, the same of B, then the result's.
Result<> quantized_arithmetic(Builder& b, std::string_view op) {
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(0), b.input(1), b.input(2)}));
  GS_ASSIGN(Tensor y, b.call1("DequantizeLinear", {b.input(3), b.input(4), b.input(5)}));
  GS_ASSIGN(Tensor real, b.call1(op, {x, y}));
  return requantized(b, real, 6, 7, b.input(0).dtype());
}

// One quantised tensor through a standard operator: X, scale, zero point, the result's scale and
// zero point.
Result<> quantized_unary(Builder& b, std::string_view op, Attributes attributes) {
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(0), b.input(1), b.input(2)}));
  GS_ASSIGN(Tensor real, b.call1(op, {x}, std::move(attributes)));
  return requantized(b, real, 3, 4, b.input(0).dtype());
}

// The same with channels last, if the node says so.
Result<> quantized_average(Builder& b) {
  bool last = b.integer("channels_last") != 0;
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(0), b.input(1), b.input(2)}));
  if (last) {
    GS_ASSIGN(x, with_channels(b, x, false));
  }
  GS_ASSIGN(Tensor y, b.call1("AveragePool", {x},
                              passed_on(b, {"auto_pad", "ceil_mode", "count_include_pad",
                                            "kernel_shape", "pads", "strides"})));
  if (last) {
    GS_ASSIGN(y, with_channels(b, y, true));
  }
  return requantized(b, y, 3, 4, b.input(0).dtype());
}

// The sum of the integers, scaled once.
Result<> quantized_global_mean(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() < 3) return b.error("X has a batch, channels and spatial axes");
  const bool last = b.integer("channels_last") != 0;
  std::vector<int> axes;
  for (int axis = last ? 1 : 2; axis < x.rank() - (last ? 1 : 0); ++axis) axes.push_back(axis);
  const DType dtype = b.has(4) ? b.input(4).dtype() : x.dtype();
  GS_ASSIGN(const Tensor inner, centered(b, "quantized_mean.x", x, b.input(2), -1));
  const auto number = [&](int i) {
    return ir::cast(DType::f32, parameter_at(b, b.input(i), {}, -1));
  };
  const Expr count = ir::cast(DType::f32, count_of(b, x, axes));
  b.output(0, reduce_axes(
                  b, "quantized_mean", inner, axes, true, Builder::Join::sum, dtype,
                  [&](Point p) { return inner.at(p); },
                  [&](Expr sum) {
                    const Expr factor = number(1) / (number(3) * count);
                    return quantized(ir::cast(DType::f32, sum) * factor,
                                     b.has(4) ? number(4) : Expr(), dtype);
                  }));
  return {};
}

// Up to version 12 softmax was over all axes from `axis` on.
Result<> quantized_softmax(Builder& b) {
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(0), b.input(1), b.input(2)}));
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  if (b.integer("opset") >= 13) {
    GS_ASSIGN(Tensor y, b.call1("Softmax", {x}, {{"axis", int64_t{axis}}}));
    return requantized(b, y, 3, 4, b.input(0).dtype());
  }
  GS_ASSIGN(Tensor flat, b.call1("Flatten", {x}, {{"axis", int64_t{axis}}}));
  GS_ASSIGN(flat, b.call1("Softmax", {flat}, {{"axis", -1}}));
  return requantized(b, b.reshape("softmax.shape", flat, x.shape()), 3, 4, b.input(0).dtype());
}

Result<> quantized_mean(Builder& b) {
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(0), b.input(1), b.input(2)}));
  Numbers axes = b.integers("axes");
  Tensor over;
  if (!axes.empty()) over = b.constant(int64s({static_cast<int64_t>(axes.size())}, axes));
  GS_ASSIGN(Tensor y, b.call1("ReduceMean", {x, over}, passed_on(b, {"keepdims"})));
  return requantized(b, y, 3, 4, b.input(0).dtype());
}

Result<> quantized_where(Builder& b) {
  GS_TRY(one_type(b, {1, 3, 4, 6, 8}));
  GS_ASSIGN(Tensor x, b.call1("DequantizeLinear", {b.input(1), b.input(2), b.input(3)}));
  GS_ASSIGN(Tensor y, b.call1("DequantizeLinear", {b.input(4), b.input(5), b.input(6)}));
  GS_ASSIGN(Tensor z, b.call1("Where", {b.input(0), x, y}));
  return requantized(b, z, 7, 8, b.input(1).dtype());
}

// The result's scale and zero point, then a tensor, its scale and zero point, again and again.
Result<> quantized_concat(Builder& b) {
  int count = b.input_count() - 2;
  if (count < 3 || count % 3 != 0)
    return b.error(
        "the inputs after the result's parameters are tensors with scale and zero point");
  std::vector<Tensor> parts;
  for (int i = 2; i < b.input_count(); i += 3) {
    if (!b.has(i) || !b.has(i + 1) || b.input(i).dtype() != b.input(1).dtype() ||
        b.input(i + 1).dtype() != DType::f32) {
      return b.error(cat("input ", i, " is no tensor of the result's type, or its scale no f32"));
    }
    GS_ASSIGN(Tensor part,
              b.call1("DequantizeLinear", {b.input(i), b.input(i + 1), b.input(i + 2)}));
    parts.push_back(std::move(part));
  }
  GS_ASSIGN(Tensor all, b.call1("Concat", std::move(parts), passed_on(b, {"axis"})));
  return requantized(b, all, 0, 1, b.input(1).dtype());
}

OpDef quantized_pair(std::string name, Doc doc, std::string_view op) {
  TypeSet bytes = only(DType::u8) | only(DType::i8), scale = only(DType::f32);
  return {.name = std::move(name),
          .doc = std::move(doc),
          .domain = std::string(microsoft),
          .since = 1,
          .inputs = {{"A", bytes},
                     {"A_scale", scale},
                     {"A_zero_point", bytes, InputDef::optional},
                     {"B", bytes},
                     {"B_scale", scale},
                     {"B_zero_point", bytes, InputDef::optional},
                     {"C_scale", scale},
                     {"C_zero_point", bytes, InputDef::optional}},
          .outputs = {"C"},
          .define = [op](Builder& b) { return quantized_arithmetic(b, op); },
          .cases = [] -> Cases {
            return {{.name = "broadcast",
                     .shapes = {{3, 4}, {}, {}, {4}},
                     .inputs = {{},
                                floats({}, {0.1f}),
                                uint8s({}, {10}),
                                {},
                                floats({}, {0.2f}),
                                uint8s({}, {3}),
                                floats({}, {0.5f}),
                                uint8s({}, {7})},
                     .dtype = DType::u8,
                     .low = 0,
                     .high = 90}};
          }};
}

OpDef quantized_one(std::string name, Doc doc, std::vector<AttributeDef> attributes,
                    std::function<Result<>(Builder&)> define, Attributes tried = {}) {
  TypeSet bytes = only(DType::u8) | only(DType::i8), scale = only(DType::f32);
  return {.name = std::move(name),
          .doc = std::move(doc),
          .domain = std::string(microsoft),
          .since = 1,
          .inputs = {{"X", bytes},
                     {"X_scale", scale},
                     {"X_zero_point", bytes, InputDef::optional},
                     {"Y_scale", scale},
                     {"Y_zero_point", bytes, InputDef::optional}},
          .attributes = std::move(attributes),
          .define = std::move(define),
          .cases = [=] -> Cases {
            return {{.name = "image",
                     .shapes = {{1, 2, 3, 4}},
                     .attributes = tried,
                     .inputs = {{},
                                floats({}, {0.05f}),
                                uint8s({}, {128}),
                                floats({}, {0.02f}),
                                uint8s({}, {100})},
                     .dtype = DType::u8,
                     .low = 0,
                     .high = 255}};
          }};
}

}  // namespace

std::vector<OpDef> microsoft_qlinear_family() {
  TypeSet bytes = only(DType::u8) | only(DType::i8), f32 = only(DType::f32);
  std::string ms(microsoft);
  return {
      quantized_pair("QLinearAdd", "The sum of quantised tensors, quantised.", "Add"),
      quantized_pair("QLinearMul", "The product of quantised tensors, quantised.", "Mul"),
      quantized_one("QLinearSigmoid", "Sigmoid of a quantised tensor, quantised.", {},
                    [](Builder& b) { return quantized_unary(b, "Sigmoid", {}); }),
      quantized_one("QLinearLeakyRelu", "LeakyRelu of a quantised tensor, quantised.",
                    {{"alpha", 0.01}},
                    [](Builder& b) {
                      return quantized_unary(b, "LeakyRelu", {{"alpha", b.number("alpha")}});
                    }),
      quantized_one("QLinearGlobalAveragePool", "The mean of each quantised channel, quantised.",
                    {{"channels_last", 0}}, quantized_global_mean),
      quantized_one(
          "QLinearAveragePool", "The mean of each window of a quantised tensor, quantised.",
          {{"auto_pad", "NOTSET"},
           {"ceil_mode", 0},
           {"channels_last", 0},
           {"count_include_pad", 0},
           {"kernel_shape", {}, true},
           {"pads", Numbers{}},
           {"strides", Numbers{}}},
          quantized_average, {{"kernel_shape", Numbers{2, 2}}, {"pads", Numbers{1, 1, 0, 0}}}),
      quantized_one("QLinearSoftmax", "Softmax of a quantised tensor, quantised.",
                    {{"axis", -1}, {"opset", {}, true}}, quantized_softmax,
                    {{"axis", 2}, {"opset", 12}}),
      quantized_one("QLinearReduceMean", "The mean over axes of a quantised tensor, quantised.",
                    {{"axes", Numbers{}}, {"keepdims", 1}}, quantized_mean,
                    {{"axes", Numbers{2, 3}}, {"keepdims", 0}}),
      {.name = "QLinearWhere",
       .doc = "X where the condition holds, Y elsewhere, quantised anew.",
       .domain = ms,
       .since = 1,
       .inputs = {{"condition", boolean_only},
                  {"X", bytes},
                  {"x_scale", f32},
                  {"x_zero_point", bytes},
                  {"Y", bytes},
                  {"y_scale", f32},
                  {"y_zero_point", bytes},
                  {"z_scale", f32},
                  {"z_zero_point", bytes}},
       .outputs = {"Z"},
       .define = quantized_where,
       .cases = [] -> Cases {
         return {{.name = "broadcast",
                  .shapes = {{3, 1}, {4}, {}, {}, {3, 4}},
                  .inputs = {{},
                             {},
                             floats({}, {0.1f}),
                             uint8s({}, {100}),
                             {},
                             floats({}, {0.05f}),
                             uint8s({}, {90}),
                             floats({}, {0.08f}),
                             uint8s({}, {128})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
      {.name = "QLinearConcat",
       .doc = "Quantised tensors one after the other, quantised anew.",
       .domain = ms,
       .since = 1,
       .inputs = {{"Y_scale", f32},
                  {"Y_zero_point", bytes},
                  {"inputs", bytes | f32, InputDef::variadic}},
       .attributes = {{"axis", {}, true}},
       .define = quantized_concat,
       .cases = [] -> Cases {
         return {{.name = "two",
                  .shapes = {{}, {}, {2, 3}, {}, {}, {2, 2}},
                  .attributes = {{"axis", 1}},
                  .inputs = {floats({}, {0.1f}),
                             uint8s({}, {100}),
                             {},
                             floats({}, {0.05f}),
                             uint8s({}, {90}),
                             {},
                             floats({}, {0.2f}),
                             uint8s({}, {110})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
  };
}

}  // namespace gossamer::ops
