// Convolutions.
#include "ops/nn/conv.h"

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/quantize.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> conv_define(Builder& b) {
  GS_TRY(same_types(b));
  const Tensor &x = b.input(0), &w = b.input(1);
  DType dtype = x.dtype();
  Finish finish;
  if (b.has(2)) {
    const Tensor& bias = b.input(2);
    if (bias.rank() != 1 || w.rank() < 1) return b.error("bias must have one axis");
    GS_TRY(b.require(bias.dim(0) == w.dim(0),
                     cat("bias has ", ir::print(bias.dim(0)), " elements, weight has ",
                         ir::print(w.dim(0)), " output channels")));
    finish = [&bias, dtype](Point point, Expr sum) {
      return ir::cast(dtype, sum + ir::cast(sum->type, bias({point[1]})));
    };
  }
  GS_ASSIGN(Tensor y, convolve(b, "conv", x, w, dtype, finish));
  b.output(0, y);
  return {};
}

Result<> conv_integer(Builder& b) {
  GS_ASSIGN(Tensor x, centered(b, "conv_integer.x", b.input(0), b.input(2), 1));
  GS_ASSIGN(Tensor w, centered(b, "conv_integer.w", b.input(1), b.input(3), 0));
  GS_ASSIGN(Tensor y, convolve(b, "conv_integer", x, w, DType::i32, {}));
  b.output(0, y);
  return {};
}

}  // namespace

Result<Tensor> convolve(Builder& b, const std::string& name, const Tensor& x, const Tensor& w,
                        DType dtype, const Finish& finish) {
  if (x.rank() < 2 || x.rank() != w.rank()) {
    return b.error(cat("input has rank ", x.rank(), ", weight has rank ", w.rank()),
                   "both are [batch or output channels, channels, spatial axes...]");
  }
  int64_t group = b.integer("group");
  if (group < 1) return b.error("`group` must be positive");
  const Expr &channels = x.dim(1), &per_group = w.dim(1), &outputs = w.dim(0);
  std::string times = group == 1 ? "" : cat(" (times ", group, " groups)");
  GS_TRY(b.require(channels == per_group * static_cast<double>(group),
                   cat("weight has ", ir::print(per_group), times, " input channels, input has ",
                       ir::print(channels))));
  GS_TRY(
      b.require(ir::floormod(outputs, group) == 0,
                cat(ir::print(outputs), " output channels do not divide into ", group, " groups")));
  Shape kernel = spatial_of(w);
  Numbers asked = b.integers("kernel_shape");
  for (size_t i = 0; i < asked.size() && i < kernel.size(); ++i) {
    GS_TRY(b.require(kernel[i] == static_cast<double>(asked[i]),
                     cat("`kernel_shape` has ", asked[i], " on axis ", i, ", weight has ",
                         ir::print(kernel[i]))));
  }
  GS_ASSIGN(Window window, make_window(b, spatial_of(x), kernel));
  const Shape first = skip_padding(b, x, window);
  Tensor padded = pad_for(b, name, x, window, ir::zero(x.dtype()));

  // One channel a group and one output each: the reduction is over the window alone.
  bool depthwise = group > 1 && ir::is_const(per_group, 1) && b.same(outputs, channels);
  Shape shape = {x.dim(0), outputs}, extents;
  if (!depthwise) extents.push_back(per_group);
  extents.insert(extents.end(), window.kernel.begin(), window.kernel.end());
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  Type sum_type = accumulator(x.dtype());
  Expr outputs_per_group = b.simplify(ir::floordiv(outputs, group));
  return b.reduce(
      name, Builder::Join::sum, dtype, shape, extents,
      [&](Point out, Point over) {
        Expr channel = depthwise ? out[1] : over[0];
        if (group > 1 && !depthwise) {
          channel = b.simplify(ir::floordiv(out[1], outputs_per_group) * per_group + over[0]);
        }
        std::vector<Expr> at_x = {out[0], channel};
        std::vector<Expr> at_w = {out[1], depthwise ? ir::index(0) : over[0]};
        for (size_t i = 0; i < window.rank(); ++i) {
          const Expr& tap = over[i + (depthwise ? 0 : 1)];
          at_x.push_back(b.simplify(tap_at(window, i, out[i + 2], tap)));
          at_w.push_back(b.simplify(tap + first[i]));
        }
        return ir::cast(sum_type, padded.at(at_x)) * ir::cast(sum_type, w.at(at_w));
      },
      finish);
}

std::vector<OpDef> conv_family() {
  using N = Numbers;
  TypeSet bytes = only(DType::u8) | only(DType::i8);
  return {
      {.name = "Conv",
       .doc = "Convolution of any rank, with groups, strides, dilations and zero padding.",
       .since = 22,
       .inputs = {{"X", any_float}, {"W", any_float}, {"B", any_float, InputDef::optional}},
       .attributes = window_attributes({{"group", 1}}),
       .define = conv_define,
       .quantized = {{.name = "QLinearConv",
                      .operands = {{}, [](const Attributes&, int) { return 0; }},
                      .addend = 8}},
       .cases = [] -> Cases {
         return {{.name = "plain", .shapes = {{1, 3, 7, 7}, {5, 3, 3, 3}, {5}}},
                 {.name = "padded",
                  .shapes = {{2, 3, 6, 7}, {4, 3, 3, 3}},
                  .attributes = {{"pads", N{1, 1, 1, 1}}}},
                 {.name = "strided",
                  .shapes = {{1, 2, 9, 8}, {3, 2, 3, 2}, {3}},
                  .attributes = {{"strides", N{2, 3}}, {"pads", N{0, 1, 2, 0}}}},
                 {.name = "dilated",
                  .shapes = {{1, 2, 9, 9}, {3, 2, 3, 3}},
                  .attributes = {{"dilations", N{2, 3}}}},
                 {.name = "dilated beyond the input",
                  .shapes = {{1, 2, 5, 7}, {3, 2, 3, 3}},
                  .attributes = {{"dilations", N{6, 3}}, {"pads", N{6, 3, 6, 3}}}},
                 {.name = "pointwise", .shapes = {{1, 8, 5, 5}, {7, 8, 1, 1}, {7}}},
                 {.name = "depthwise",
                  .shapes = {{1, 5, 6, 6}, {5, 1, 3, 3}, {5}},
                  .attributes = {{"group", 5}, {"pads", N{1, 1, 1, 1}}}},
                 {.name = "groups",
                  .shapes = {{1, 4, 5, 5}, {6, 2, 3, 3}},
                  .attributes = {{"group", 2}, {"auto_pad", "SAME_UPPER"}}},
                 {.name = "no axis", .shapes = {{5, 6}, {4, 3}, {4}}, .attributes = {{"group", 2}}},
                 {.name = "one axis",
                  .shapes = {{2, 3, 11}, {4, 3, 3}, {4}},
                  .attributes = {{"auto_pad", "SAME_LOWER"}, {"strides", N{2}}}},
                 {.name = "three axes", .shapes = {{1, 2, 4, 4, 4}, {3, 2, 2, 2, 2}}}};
       }},
      {.name = "ConvInteger",
       .doc = "Convolution of 8-bit integers less their zero points, in 32 bits.",
       .since = 10,
       .inputs = {{"x", bytes},
                  {"w", bytes},
                  {"x_zero_point", bytes, InputDef::optional},
                  {"w_zero_point", bytes, InputDef::optional}},
       .outputs = {"y"},
       .attributes = window_attributes({{"group", 1}}),
       .define = conv_integer,
       .cases = [] -> Cases {
         return {{.name = "zero point",
                  .shapes = {{1, 2, 5, 5}, {3, 2, 3, 3}},
                  .attributes = {{"pads", N{1, 1, 1, 1}}},
                  .inputs = {{}, {}, uint8s({}, {7})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 20},
                 {.name = "channels",
                  .shapes = {{1, 6, 5, 5}, {9, 6, 3, 3}},
                  .attributes = {{"pads", N{1, 1, 1, 1}}},
                  .inputs = {{}, {}, uint8s({}, {255}), uint8s({}, {128})},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255},
                 {.name = "signed",
                  .shapes = {{1, 1, 4, 5}, {2, 1, 2, 2}},
                  .dtype = DType::i8,
                  .low = -9,
                  .high = 9}};
       }},
  };
}

}  // namespace gossamer::ops
