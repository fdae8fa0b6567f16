// Convolutions, pools and linear layers of ONNX Runtime's domain: of channels last, of fused parts.
#include <limits>

#include "ir/print.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/nn/window.h"
#include "ops/reshape_index.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Attributes convolution_attributes(const Builder& b) {
  return passed_on(b, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

// X and Y have channels last, the weights do not.
Result<> nhwc_conv(Builder& b) {
  GS_TRY(same_types(b));
  GS_ASSIGN(Tensor x, with_channels(b, b.input(0), false));
  GS_ASSIGN(Tensor y, b.call1("Conv", {x, b.input(1), b.input(2)}, convolution_attributes(b)));
  GS_ASSIGN(y, with_channels(b, y, true));
  if (b.has(3)) {
    GS_TRY(has_shape(b, 3, y.shape()));
    GS_ASSIGN(y, b.call1("Add", {y, b.input(3)}));
  }
  if (b.def().name == "NhwcFusedConv") {
    GS_ASSIGN(y, activated(b, y));
  }
  b.output(0, y);
  return {};
}

Result<> quantized_conv(Builder& b) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < b.input_count(); ++i) inputs.push_back(b.input(i));
  const bool last = b.integer("channels_last") != 0;
  if (last) {
    GS_ASSIGN(inputs[0], with_channels(b, inputs[0], false));
  }
  GS_ASSIGN(Tensor y, b.call1("QLinearConv", std::move(inputs), convolution_attributes(b)));
  if (last) {
    GS_ASSIGN(y, with_channels(b, y, true));
  }
  b.output(0, y);
  return {};
}

// The pads of a transposed convolution are an input.
Result<> conv_with_pads(Builder& b) {
  Attributes attributes =
      passed_on(b, {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "strides"});
  if (b.has(2)) {
    GS_ASSIGN(Numbers pads, b.host_ints(2));
    attributes["pads"] = std::move(pads);
  }
  GS_ASSIGN(Tensor y,
            b.call1("ConvTranspose", {b.input(0), b.input(1), b.input(3)}, std::move(attributes)));
  b.output(0, y);
  return {};
}

Result<> gemm_fast_gelu(Builder& b) {
  GS_TRY(same_types(b));
  GS_ASSIGN(Tensor y, b.call1("MatMul", {b.input(0), b.input(1)}));
  if (b.has(2)) {
    GS_ASSIGN(y, b.call1("Add", {y, b.input(2)}));
  }
  GS_ASSIGN(y, b.call1("Gelu", {y}, {{"approximate", "tanh"}}));
  b.output(0, y);
  return {};
}

// The elements of a window up to the first that the mask leaves out, along each row of it; an
// image's first element always counts.
Result<> masked_pool(Builder& b) {
  const Tensor &x = b.input(0), &mask = b.input(1);
  if (x.rank() < 3) return b.error("X has no spatial axis");
  if (b.integer("storage_order") != 0) return b.error("`storage_order` is not supported");
  const Numbers sizes = b.integers("kernel_shape");
  Shape kernel;
  for (int64_t size : sizes) kernel.push_back(ir::index(size));
  if (kernel.size() + 2 != x.shape().size() || mask.rank() != x.rank())
    return b.error("`kernel_shape` and M have X's spatial axes");
  for (int axis = 2; axis < x.rank(); ++axis) {
    GS_TRY(b.require(mask.dim(axis) == x.dim(axis), "M has X's spatial extents"));
  }
  GS_ASSIGN(Window window, make_window(b, spatial_of(x), kernel));
  // ONNX Runtime reads the mask of each plane at an offset of less than the mask's planes.
  const Expr size = b.simplify(product(spatial_of(x)));
  const Tensor flat = b.reshape("masked_pool.mask", mask, {product(mask.shape())});
  const Expr planes = b.simplify(mask.dim(0) * mask.dim(1));
  const auto masked = [&](Point p) {
    Expr place = ir::index(0);
    for (size_t i = 2; i < p.size(); ++i) place = place * x.shape()[i] + p[i];
    const Expr plane = p[0] * x.dim(1) + p[1];
    const Expr out = flat({b.simplify(ir::floormod(plane * size, planes) + place)}) == 0.0;
    return x.rank() == 4 ? Expr(place > 0.0 && ir::Condition(out)) : out;
  };
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  const size_t last = window.rank() - 1;
  b.output(
      0,
      b.reduce(
          "masked_pool", Builder::Join::max, x.dtype(), shape, kernel,
          [&](Point p, Point over) {
            const auto place = [&](size_t axis, const Expr& tap) {
              return b.simplify(tap_at(window, axis, p[axis + 2], tap) - window.pad_begin[axis]);
            };
            std::vector<Expr> at = {p[0], p[1]};
            Expr inside = ir::boolean(true);
            for (size_t i = 0; i <= last; ++i) {
              at.push_back(place(i, over[i]));
              inside = inside && at.back() >= 0.0 && at.back() < x.shape()[i + 2];
            }
            Expr counts = inside;
            for (int64_t tap = 0; tap < sizes[last]; ++tap) {
              std::vector<Expr> before = at;
              before.back() = place(last, ir::index(tap));
              const Expr there =
                  before.back() >= 0.0 && over[last] >= ir::index(tap) && ir::Condition(inside);
              counts =
                  counts && !ir::Condition(ir::select(there, masked(before), ir::boolean(false)));
            }
            return ir::select(counts, x.at(at), ir::lowest(x.dtype()));
          },
          [&](Point, Expr most) { return ir::max(most, std::numeric_limits<float>::lowest()); }));
  return {};
}

std::vector<AttributeDef> convolution(std::vector<AttributeDef> more) {
  std::vector<AttributeDef> all = {{"auto_pad", "NOTSET"}, {"dilations", Numbers{}},
                                   {"group", 1},           {"kernel_shape", Numbers{}},
                                   {"pads", Numbers{}},    {"strides", Numbers{}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

std::vector<OpDef> microsoft_layer_family() {
  const std::string ms(microsoft);
  const auto optional = InputDef::optional;
  const TypeSet bytes = only(DType::u8) | only(DType::i8), f32 = only(DType::f32),
                ids = only(DType::i32);
  return {
      {.name = "NhwcConv",
       .doc = "Conv of images with channels last.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"W", any_float}, {"B", any_float, optional}},
       .attributes = convolution({}),
       .define = nhwc_conv,
       .cases = [] -> Cases {
         return {{.name = "pads",
                  .shapes = {{1, 5, 4, 3}, {2, 3, 3, 3}, {2}},
                  .attributes = {{"pads", Numbers{1, 1, 1, 1}}}}};
       }},
      {.name = "NhwcFusedConv",
       .doc = "Conv of images with channels last, a sum and an activation.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float},
                  {"W", any_float},
                  {"B", any_float, optional},
                  {"Z", any_float, optional}},
       .attributes =
           convolution({{"activation", ""}, {"activation_params", std::vector<double>{}}}),
       .define = nhwc_conv,
       .cases = [] -> Cases {
         return {{.name = "sum",
                  .shapes = {{1, 5, 4, 3}, {2, 3, 3, 3}, {2}, {1, 3, 2, 2}},
                  .attributes = {{"activation", "Relu"}}}};
       }},
      {.name = "QLinearConv",
       .doc = "QLinearConv, with channels last if asked.",
       .domain = ms,
       .since = 1,
       .inputs = {{"x", bytes},
                  {"x_scale", f32},
                  {"x_zero_point", bytes},
                  {"w", bytes},
                  {"w_scale", f32},
                  {"w_zero_point", bytes},
                  {"y_scale", f32},
                  {"y_zero_point", bytes},
                  {"B", ids, optional}},
       .outputs = {"y"},
       .attributes = convolution({{"channels_last", 0}}),
       .define = quantized_conv,
       .cases = [] -> Cases {
         return {{.name = "channels last",
                  .shapes = {{1, 4, 5, 2}, {}, {}, {3, 2, 3, 3}},
                  .attributes = {{"channels_last", 1}},
                  .inputs = {{},
                             floats({}, {0.05f}),
                             uint8s({}, {100}),
                             {},
                             floats({}, {0.02f}),
                             uint8s({}, {90}),
                             floats({}, {0.1f}),
                             uint8s({}, {120})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
      {.name = "ConvTransposeWithDynamicPads",
       .doc = "ConvTranspose whose pads are an input.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float},
                  {"W", any_float},
                  {"Pads", only(DType::i64), optional},
                  {"B", any_float, optional}},
       .attributes = {{"auto_pad", "NOTSET"},
                      {"dilations", Numbers{}},
                      {"group", 1},
                      {"kernel_shape", Numbers{}},
                      {"output_padding", Numbers{}},
                      {"strides", Numbers{}}},
       .define = conv_with_pads,
       .cases = [] -> Cases {
         return {{.name = "pads",
                  .shapes = {{1, 2, 4, 4}, {2, 3, 3, 3}},
                  .attributes = {{"strides", Numbers{2, 2}}},
                  .inputs = {{}, {}, int64s({4}, {1, 0, 1, 1})}}};
       }},
      {.name = "GemmFastGelu",
       .doc = "FastGelu of a product of matrices.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"W", any_float}, {"bias", any_float, optional}},
       .define = gemm_fast_gelu,
       .cases = [] -> Cases {
         return {{.name = "bias", .shapes = {{2, 3, 4}, {4, 5}, {5}}},
                 {.name = "bare", .shapes = {{3, 4}, {4, 5}}}};
       }},
      {.name = "MaxpoolWithMask",
       .doc = "MaxPool of rows of windows up to the first element that a mask leaves out.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", f32}, {"M", ids}},
       .attributes = {{"auto_pad", "NOTSET"},
                      {"dilations", Numbers{}},
                      {"kernel_shape", {}, true},
                      {"pads", Numbers{}},
                      {"storage_order", 0},
                      {"strides", Numbers{}}},
       .define = masked_pool,
       .cases = [] -> Cases {
         return {{.name = "image",
                  .shapes = {{2, 2, 5, 6}, {2, 2, 5, 6}},
                  .attributes = {{"kernel_shape", Numbers{2, 3}}, {"pads", Numbers{1, 1, 0, 1}}},
                  .low = 0,
                  .high = 2},
                 {.name = "row",
                  .shapes = {{1, 3, 9}, {1, 1, 9}},
                  .attributes = {{"kernel_shape", Numbers{3}}, {"strides", Numbers{2}}},
                  .low = 0,
                  .high = 2}};
       }},
  };
}

}  // namespace gossamer::ops
