// Quantised integers: to them, from them, and products of them.
#include "ops/nn/quantize.h"

#include "ir/print.h"
#include "ops/conversion.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/conv.h"
#include "ops/nn/matmul.h"
#include "ops/reduction/reduce.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

constexpr TypeSet bytes = only(DType::u8) | only(DType::i8);
const TypeSet small_quantized = (small_floats | small_ints) & ~only(DType::f8e8m0);
const TypeSet quantized_types = bytes | only(DType::u16) | only(DType::i16) | small_quantized;

bool single_number(const Tensor& t) {
  return t.rank() == 0 || (t.rank() == 1 && ir::is_const(t.dim(0), 1));
}

// Also where only a run tells the extent.
Result<> is_single(Builder& b, int input, const std::string& message) {
  const Tensor& t = b.input(input);
  if (t.rank() > 1) return b.error(message);
  return t.rank() == 0 ? Result<>{} : b.require(t.dim(0) == 1, message);
}

// How a scale (or zero point) lies over x: one number, one an index of `axis`, or one a block along
// `axis`.
Result<std::function<Expr(const Tensor&, Point)>> parameter_reader(Builder& b, const Tensor& x,
                                                                   const Tensor& scale) {
  const Tensor& zero = b.input(2);
  int64_t block = b.integer("block_size");
  bool single = single_number(scale) && (scale.rank() == 0 || block == 0);
  if (single) {
    if (zero) GS_TRY(is_single(b, 2, "one scale needs one zero point"));
    return [&b](const Tensor& t, Point) {
      return b.at_broadcast(t, std::vector<Expr>(static_cast<size_t>(t.rank()), ir::index(0)));
    };
  }
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  GS_TRY(has_shape(b, 2, scale.shape()));
  if (block == 0) {
    const std::string misfit = cat("the scale does not have one element for each of axis ", axis);
    if (scale.rank() != 1) return b.error(misfit);
    GS_TRY(b.require(scale.dim(0) == 1 || scale.dim(0) == x.dim(axis), misfit));
    const bool each = b.same(scale.dim(0), x.dim(axis));
    return [&b, each, axis](const Tensor& t, Point p) {
      const Expr place = p[static_cast<size_t>(axis)];
      return each ? t({place}) : b.at_broadcast(t, std::vector<Expr>{place});
    };
  }
  if (block < 0 || scale.rank() != x.rank())
    return b.error("a blocked scale has the rank of the input");
  for (int i = 0; i < x.rank(); ++i) {
    Expr blocks =
        i == axis ? ir::floordiv(x.dim(i) + static_cast<double>(block - 1), block) : x.dim(i);
    GS_TRY(b.require(scale.dim(i) == blocks,
                     cat("the scale has ", ir::print(scale.dim(i)), " elements along axis ", i,
                         ", ", ir::print(x.dim(i)), " in blocks of ", i == axis ? block : 1,
                         " need ", ir::print(b.simplify(blocks)))));
  }
  return [axis, block](const Tensor& t, Point p) {
    std::vector<Expr> at(p.begin(), p.end());
    Expr& place = at[static_cast<size_t>(axis)];
    place = ir::floordiv(place, block);
    return t.at(at);
  };
}

Result<> quantize_linear(Builder& b) {
  const Tensor &x = b.input(0), &scale = b.input(1), &zero = b.input(2);
  DType to = zero ? zero.dtype() : DType::u8;
  if (int64_t code = b.integer("output_dtype"); code != 0) {
    auto asked = dtype_of_onnx(code);
    if (!asked) return b.error(cat("quantised type code ", code, " is not supported"));
    if (zero && *asked != to) return b.error("`output_dtype` differs from the zero point's type");
    to = *asked;
  }
  if (!(quantized_types & only(to))) return b.error(cat("cannot quantise to ", ir::name_of(to)));
  GS_ASSIGN(auto read, parameter_reader(b, x, scale));
  DType wide = scale.dtype() == DType::f64 ? DType::f64 : DType::f32;
  // What the quotient is rounded to.
  DType precision = scale.dtype();
  if (int64_t code = b.integer("precision"); code != 0) {
    auto asked = dtype_of_onnx(code);
    if (!asked || !(any_float & only(*asked))) return b.error("`precision` must be a float type");
    precision = *asked;
  }
  const bool rounds = precision == DType::f16 || precision == DType::bf16;
  Conversion conversion{.saturate = b.integer("saturate") != 0};
  b.output(0, b.compute("quantize_linear", to, x.shape(), [&](Point p) {
    Expr scaled = ir::cast(wide, x.at(p)) / ir::cast(wide, read(scale, p));
    if (rounds) scaled = ir::cast(wide, ir::cast(precision, scaled));
    if (ir::is_float(to)) {
      if (zero) scaled = scaled + ir::cast(wide, read(zero, p));
      return converted(scaled, to, conversion);
    }
    return quantized(scaled, zero ? ir::cast(wide, read(zero, p)) : Expr(), to);
  }));
  return {};
}

Result<> dequantize_linear(Builder& b) {
  const Tensor &x = b.input(0), &scale = b.input(1), &zero = b.input(2);
  DType to = scale.dtype();
  if (int64_t code = b.integer("output_dtype"); code != 0) {
    auto asked = dtype_of_onnx(code);
    if (!asked || !(any_float & only(*asked)))
      return b.error("`output_dtype` must be a float type");
    to = *asked;
  }
  if (zero && zero.dtype() != x.dtype()) {
    return b.error(cat("the zero point has type ", ir::name_of(zero.dtype()), ", x has ",
                       ir::name_of(x.dtype())));
  }
  GS_ASSIGN(auto read, parameter_reader(b, x, scale));
  DType wide = accumulator(scale.dtype());
  b.output(0, b.compute("dequantize_linear", to, x.shape(), [&](Point p) {
    Expr value = ir::cast(wide, x.at(p));
    if (zero) value = value - ir::cast(wide, read(zero, p));
    return ir::cast(to, value * ir::cast(wide, read(scale, p)));
  }));
  return {};
}

Result<> dynamic_quantize_linear(Builder& b) {
  const Tensor& x = b.input(0);
  std::vector<int> axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  auto load = [&](Point at) { return x.at(at); };
  // The range always contains 0.
  Tensor low = reduce_axes(b, "dynamic_quantize_linear.low", x, axes, false, Builder::Join::min,
                           DType::f32, load, [](Expr value) { return ir::min(value, 0.0); });
  Tensor high = reduce_axes(b, "dynamic_quantize_linear.high", x, axes, false, Builder::Join::max,
                            DType::f32, load, [](Expr value) { return ir::max(value, 0.0); });
  // Silence has scale 1, as in ONNX Runtime: by 0 nobody behind this could divide.
  Tensor scale = b.compute("dynamic_quantize_linear.scale", DType::f32, {}, [&](Point) {
    Expr step = (high({}) - low({})) / 255.0;
    return ir::select(step == 0, ir::constant(DType::f32, 1), step);
  });
  Tensor zero = b.compute("dynamic_quantize_linear.zero_point", DType::u8, {},
                          [&](Point) { return quantized(-low({}) / scale({}), {}, DType::u8); });
  b.output(0, b.compute("dynamic_quantize_linear", DType::u8, x.shape(), [&](Point p) {
    return quantized(x.at(p) / scale({}), ir::cast(DType::f32, zero({})), DType::u8);
  }));
  b.output(1, scale);
  b.output(2, zero);
  return {};
}

// Inputs a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
Expr requantized(const Builder& b, Expr sum, Point p, int left_axis, int right_axis) {
  auto real = [&](int i, int axis) {
    return ir::cast(DType::f32, parameter_at(b, b.input(i), p, axis));
  };
  Expr factor = real(1, left_axis) * real(4, right_axis) / real(6, -1);
  return quantized(ir::cast(DType::f32, sum) * factor, real(7, -1), b.input(7).dtype());
}

// A scale or zero point: one number, one for each of `axis`, or any shape that broadcasts to x's.
Result<> is_parameter(Builder& b, int input, const Tensor& x, int axis) {
  const Tensor& parameter = b.input(input);
  if (single_number(parameter)) return {};
  if (parameter.rank() != 1) return broadcasts_to(b, input, x.shape());
  if (axis < 0 || axis >= x.rank()) return is_single(b, input, "it is one number");
  const Expr extent = parameter.dim(0);
  return b.require(extent == 1 || extent == x.dim(axis),
                   cat("input ", input, " is one number, or one for each of axis ", axis));
}

// Small floats are multiplied as what they stand for.
Result<> small_float_matmul(Builder& b) {
  std::vector<Tensor> real;
  for (int i : {0, 3}) {
    const Tensor& x = b.input(i);
    int64_t axis = i == 0 ? std::max(x.rank() - 2, 0) : x.rank() - 1;
    GS_ASSIGN(Tensor made,
              b.call1("DequantizeLinear", {x, b.input(i + 1), b.input(i + 2)}, {{"axis", axis}}));
    real.push_back(std::move(made));
  }
  GS_ASSIGN(Tensor product, b.call1("MatMul", std::move(real)));
  GS_ASSIGN(Tensor y, b.call1("QuantizeLinear", {product, b.input(6), b.input(7)}));
  b.output(0, y);
  return {};
}

Result<> qlinear_matmul(Builder& b) {
  const Tensor &left = b.input(0), &right = b.input(3);
  if (small_floats & only(left.dtype())) return small_float_matmul(b);
  GS_ASSIGN(Tensor x, centered(b, "qlinear_matmul.a", left, b.input(2),
                               std::max(left.rank() - 2, 0), product_sum));
  GS_ASSIGN(Tensor y,
            centered(b, "qlinear_matmul.b", right, b.input(5), right.rank() - 1, product_sum));
  for (int i : {1, 2}) GS_TRY(is_parameter(b, i, left, left.rank() - 2));
  for (int i : {4, 5}) GS_TRY(is_parameter(b, i, right, right.rank() - 1));
  for (int i : {6, 7}) GS_TRY(is_single(b, i, "the result has one scale and one zero point"));
  int rank = std::max(left.rank(), right.rank());
  GS_ASSIGN(Tensor product,
            matrix_product(b, "qlinear_matmul", x, y, b.input(7).dtype(), [&](Point p, Expr sum) {
              return requantized(b, sum, p, rank - 2, rank - 1);
            }));
  b.output(0, product);
  return {};
}

Result<> qlinear_conv(Builder& b) {
  GS_ASSIGN(Tensor x, centered(b, "qlinear_conv.x", b.input(0), b.input(2), 1, product_sum));
  GS_ASSIGN(Tensor w, centered(b, "qlinear_conv.w", b.input(3), b.input(5), 0, product_sum));
  for (int i : {1, 2, 6, 7})
    GS_TRY(is_single(b, i, "the input and the result have one scale and one zero point each"));
  for (int i : {4, 5}) GS_TRY(is_parameter(b, i, w, 0));
  GS_TRY(has_shape(b, 8, {w.dim(0)}));
  GS_ASSIGN(Tensor y, convolve(b, "qlinear_conv", x, w, b.input(7).dtype(), [&](Point p, Expr sum) {
              if (b.has(8)) sum = sum + ir::cast(product_sum, b.input(8)({p[1]}));
              return requantized(b, sum, p, 1, 1);
            }));
  b.output(0, y);
  return {};
}

std::vector<TensorData> quantization(float scale, TensorData zero) {
  return {TensorData{}, floats({}, {scale}), std::move(zero)};
}

}  // namespace

Expr parameter_at(const Builder& b, const Tensor& parameter, Point point, int axis) {
  const bool has_axis = axis >= 0 && static_cast<size_t>(axis) < point.size();
  // Its extent may be 1 in a run.
  if (parameter.rank() == 1 && !ir::is_const(parameter.dim(0), 1) && has_axis)
    return b.at_broadcast(parameter, std::vector<Expr>{point[static_cast<size_t>(axis)]});
  if (parameter.rank() > 1) return b.at_broadcast(parameter, point);
  return b.at_broadcast(parameter,
                        std::vector<Expr>(static_cast<size_t>(parameter.rank()), ir::index(0)));
}

Result<Tensor> centered(Builder& b, const std::string& name, const Tensor& x,
                        const Tensor& zero_point, int axis, DType wide) {
  if (zero_point && zero_point.dtype() != x.dtype()) {
    return b.error(cat("a zero point has type ", ir::name_of(zero_point.dtype()),
                       ", its tensor has ", ir::name_of(x.dtype())));
  }
  if (zero_point && zero_point.rank() == 1 && x.rank() > 0) {
    GS_TRY(b.require(zero_point.dim(0) == 1 || zero_point.dim(0) == x.dim(axis),
                     cat("a zero point has ", ir::print(zero_point.dim(0)), " elements, axis ",
                         axis, " has ", ir::print(x.dim(axis)))));
  }
  return b.compute(name, wide, x.shape(), [&](Point p) {
    Expr value = ir::cast(wide, x.at(p));
    return zero_point ? value - ir::cast(wide, parameter_at(b, zero_point, p, axis)) : value;
  });
}

std::vector<OpDef> quantize_family() {
  TypeSet scales = only(DType::f32) | only(DType::f16) | only(DType::bf16);
  std::vector<InputDef> product_inputs = {
      {"a", bytes},        {"a_scale", scales},    {"a_zero_point", bytes},
      {"b", bytes},        {"b_scale", scales},    {"b_zero_point", bytes},
      {"y_scale", scales}, {"y_zero_point", bytes}};
  std::vector<InputDef> conv_inputs = product_inputs;
  conv_inputs.push_back({"B", only(DType::i32), InputDef::optional});
  for (size_t i : {0, 2, 3, 5, 7}) product_inputs[i].types |= small_floats;
  return {
      {.name = "QuantizeLinear",
       .doc = "Rounds x / scale + zero point into an integer type, saturating.",
       .since = 28,
       .inputs = {{"x", any_float | only(DType::i32)},
                  {"y_scale", scales | only(DType::i32) | only(DType::f8e8m0)},
                  {"y_zero_point", quantized_types, InputDef::optional}},
       .outputs = {"y"},
       .attributes =
           {{"axis", 1}, {"block_size", 0}, {"output_dtype", 0}, {"precision", 0}, {"saturate", 1}},
       .define = quantize_linear,
       .cases = [] -> Cases {
         return {{.name = "tensor",
                  .shapes = {{3, 5}},
                  .inputs = quantization(0.02f, uint8s({}, {128}))},
                 {.name = "axis",
                  .shapes = {{1, 3, 4}},
                  .inputs = {{}, floats({3}, {0.5f, 0.1f, 0.01f}), int8s({3}, {0, -3, 5})}},
                 {.name = "blocks",
                  .shapes = {{2, 6}},
                  .attributes = {{"block_size", 3}},
                  .inputs = {{}, floats({2, 2}, {0.5f, 0.1f, 0.2f, 0.3f})}},
                 {.name = "to i4",
                  .shapes = {{3, 7}},
                  .inputs = {{},
                             floats({7}, {2, 1, 0.5f, 0.25f, 0.1f, 3, 1}),
                             codes(DType::i4, {7}, {0, 1, -8, 7, 3, -1, 0})}},
                 {.name = "to u2",
                  .shapes = {{3, 7}},
                  .attributes = {{"output_dtype", 25}},
                  .inputs = {{}, floats({}, {0.5f})}},
                 {.name = "to f8e4m3fn",
                  .shapes = {{3, 7}},
                  .attributes = {{"output_dtype", 17}},
                  .inputs = {{}, floats({}, {0.001f})}},
                 {.name = "to f8e4m3fn without saturation",
                  .shapes = {{3, 7}},
                  .attributes = {{"output_dtype", 17}, {"saturate", 0}},
                  .inputs = {{}, floats({}, {0.001f})}},
                 {.name = "to f4e2m1, powers of two as scales",
                  .shapes = {{2, 6}},
                  .attributes = {{"output_dtype", 23}, {"block_size", 3}},
                  .inputs = {{}, codes(DType::f8e8m0, {2, 2}, {127, 126, 125, 128})}},
                 {.name = "divided in f16",
                  .shapes = {{4, 9}},
                  .attributes = {{"precision", 10}},
                  .inputs = {{}, floats({}, {0.0123f})}}};
       }},
      {.name = "DequantizeLinear",
       .doc = "(x - zero point) * scale.",
       .since = 28,
       .inputs = {{"x", quantized_types | only(DType::i32)},
                  {"x_scale", scales | only(DType::f8e8m0)},
                  {"x_zero_point", quantized_types | only(DType::i32), InputDef::optional}},
       .outputs = {"y"},
       .attributes = {{"axis", 1}, {"block_size", 0}, {"output_dtype", 0}},
       .define = dequantize_linear,
       .cases = [] -> Cases {
         return {{.name = "tensor",
                  .shapes = {{3, 5}},
                  .inputs = quantization(0.02f, uint8s({}, {128})),
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255},
                 {.name = "axis",
                  .shapes = {{1, 3, 4}},
                  .inputs = {{}, floats({3}, {0.5f, 0.1f, 0.01f}), int8s({3}, {0, -3, 5})},
                  .dtype = DType::i8,
                  .low = -128,
                  .high = 127},
                 {.name = "blocks",
                  .shapes = {{2, 6}},
                  .attributes = {{"block_size", 3}},
                  .inputs = {{}, floats({2, 2}, {0.5f, 0.1f, 0.2f, 0.3f})},
                  .dtype = DType::i8,
                  .low = -99,
                  .high = 99},
                 {.name = "of i4",
                  .shapes = {{3, 7}},
                  .inputs = {{}, floats({}, {0.3f}), codes(DType::i4, {}, {-3})},
                  .dtype = DType::i4,
                  .low = -8,
                  .high = 7},
                 {.name = "of u2",
                  .shapes = {{3, 7}},
                  .inputs = {{}, floats({}, {0.3f}), codes(DType::u2, {}, {2})},
                  .dtype = DType::u2,
                  .low = 0,
                  .high = 3},
                 {.name = "of f8e5m2",
                  .shapes = {{3, 7}},
                  .inputs = {{}, floats({}, {0.3f})},
                  .dtype = DType::f8e5m2},
                 {.name = "of f4e2m1, powers of two as scales",
                  .shapes = {{2, 6}},
                  .attributes = {{"output_dtype", 1}, {"block_size", 3}},
                  .inputs = {{}, codes(DType::f8e8m0, {2, 2}, {127, 126, 125, 128})},
                  .dtype = DType::f4e2m1}};
       }},
      {.name = "DynamicQuantizeLinear",
       .doc = "Quantises to u8 by the range of the values themselves.",
       .since = 11,
       .inputs = {{"x", only(DType::f32)}},
       .outputs = {"y", "y_scale", "y_zero_point"},
       .define = dynamic_quantize_linear,
       .cases = [] -> Cases {
         return {{.name = "both signs", .shapes = {{3, 5}}},
                 {.name = "positive", .shapes = {{7}}, .low = 1, .high = 4},
                 {.name = "silence", .inputs = {floats({2, 3}, {0, 0, 0, 0, 0, 0})}}};
       }},
      {.name = "QLinearMatMul",
       .doc = "Product of quantised matrices, quantised.",
       .since = 21,
       .inputs = product_inputs,
       .outputs = {"y"},
       .define = qlinear_matmul,
       .cases = [] -> Cases {
         return {{.name = "tensor",
                  .shapes = {{2, 4}, {}, {}, {4, 3}},
                  .inputs = {{},
                             floats({1}, {0.0066f}),
                             uint8s({1}, {113}),
                             {},
                             floats({1}, {0.00705f}),
                             uint8s({1}, {114}),
                             floats({1}, {0.0107f}),
                             uint8s({1}, {118})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255},
                 {.name = "small floats",
                  .inputs = {codes(DType::f8e4m3fn, {2, 3}, {0x38, 0xb8, 0x40, 0x30, 0x3c, 0xc4}),
                             floats({}, {0.5f}), codes(DType::f8e4m3fn, {}, {0}),
                             codes(DType::f8e4m3fn, {3, 2}, {0x38, 0x40, 0xb0, 0x3c, 0x44, 0x28}),
                             floats({}, {0.25f}), codes(DType::f8e4m3fn, {}, {0}),
                             floats({}, {0.125f}), codes(DType::f8e4m3fn, {}, {0})}}};
       }},
      {.name = "QLinearConv",
       .doc = "Convolution of quantised tensors, quantised.",
       .since = 10,
       .inputs = conv_inputs,
       .outputs = {"y"},
       .attributes = window_attributes({{"group", 1}}),
       .define = qlinear_conv,
       .cases = [] -> Cases {
         return {{.name = "tensor",
                  .shapes = {{1, 2, 5, 5}, {}, {}, {3, 2, 3, 3}},
                  .attributes = {{"pads", Numbers{1, 1, 1, 1}}},
                  .inputs = {{},
                             floats({}, {0.0037f}),
                             uint8s({}, {132}),
                             {},
                             floats({3}, {0.0017f, 0.002f, 0.001f}),
                             uint8s({3}, {255, 0, 100}),
                             floats({}, {0.0062f}),
                             uint8s({}, {123}),
                             int32s({3}, {5, -70, 1000})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
  };
}

}  // namespace gossamer::ops
