// Operators of ONNX Runtime's domain on images: groups of channels, pools with channels last,
// crops.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// Each group of channels normalised, then an activation if asked; `skip` adds other tensors first.
Result<> group_norm(Builder& b, bool skip) {
  const Tensor& x = b.input(0);
  GS_TRY(one_type(b, {1, 2}));
  bool last = b.integer("channels_last") != 0;
  if (x.rank() != 4) return b.error(cat("X has rank ", x.rank(), ", not 4"));
  const size_t channel = last ? 3 : 1;
  Expr channels = x.shape()[channel];
  for (int i : {1, 2}) GS_TRY(has_shape(b, i, {channels}));
  if (b.integer("activation") != 0 && b.integer("activation") != 1)
    return b.error("`activation` is 0 (none) or 1 (SiLU)");
  Tensor sum = x;
  if (skip) {
    const Tensor &more = b.input(3), &bias = b.input(4);
    GS_TRY(one_type(b, {0, 3, 4}));
    GS_TRY(has_shape(b, 4, {channels}));
    if (more.rank() == 2) {
      GS_TRY(has_shape(b, 3, {x.dim(0), channels}));
    } else {
      GS_TRY(broadcasts_to(b, 3, x.shape()));
    }
    sum = b.compute("group_norm.sum", x.dtype(), x.shape(), [&](Point p) {
      Expr value = x.at(p);
      value = value + (more.rank() == 2 ? more({p[0], p[channel]}) : b.at_broadcast(more, p));
      return bias ? value + bias({p[channel]}) : value;
    });
  }
  Tensor y = sum;
  bool casts = b.input(1).dtype() != x.dtype();
  if (casts) {
    GS_ASSIGN(y, b.call1("CastLike", {y, b.input(1)}));
  }
  if (last) {
    GS_ASSIGN(y, with_channels(b, y, false));
  }
  GS_ASSIGN(y, b.call1("GroupNormalization", {y, b.input(1), b.input(2)},
                       {{"epsilon", b.number("epsilon")}, {"num_groups", b.integer("groups")}}));
  if (b.integer("activation") == 1) {
    GS_ASSIGN(y, b.call1("Swish", {y}));
  }
  if (last) {
    GS_ASSIGN(y, with_channels(b, y, true));
  }
  if (casts) {
    GS_ASSIGN(y, b.call1("CastLike", {y, x}));
  }
  b.output(0, y);
  if (skip) b.output(1, sum);
  return {};
}

Result<> nhwc_max_pool(Builder& b) {
  GS_ASSIGN(Tensor x, with_channels(b, b.input(0), false));
  GS_ASSIGN(Tensor y, b.call1("MaxPool", {x},
                              passed_on(b, {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                                            "pads", "strides"})));
  GS_ASSIGN(y, with_channels(b, y, true));
  b.output(0, y);
  return {};
}

// Boxes [y1, x1, y2, x2] of images, in parts of their size, sampled to one size.
Result<> crop_and_resize(Builder& b) {
  const Tensor &x = b.input(0), &boxes = b.input(1), &images = b.input(2);
  GS_ASSIGN(std::vector<Expr> size, b.elements(3));
  if (x.rank() != 4 || size.size() != 2) return b.error("X has rank 4, crop_size two elements");
  GS_TRY(one_type(b, {0, 1}));
  GS_TRY(has_shape(b, 1, {images.dim(0), ir::index(4)}));
  std::string mode = b.text("mode");
  if (mode != "bilinear" && mode != "nearest")
    return b.error(cat("`mode` is \"", mode, "\""), "it must be bilinear or nearest");
  DType dtype = x.dtype(), wide = accumulator(dtype);
  double outside = b.number("extrapolation_value");
  b.output(
      0, b.compute("crop_and_resize", dtype, {images.dim(0), x.dim(1), size[0], size[1]},
                   [&](Point p) {
                     // Of an index that is out of range, the nearest image.
                     Expr image = ir::min(ir::max(as_index(images({p[0]})), ir::index(0)),
                                          ir::max(x.dim(0) - ir::index(1), ir::index(0)));
                     Expr inside = ir::boolean(true);
                     std::vector<Expr> place;
                     for (int axis : {0, 1}) {
                       Expr first = ir::cast(wide, boxes({p[0], ir::index(axis)})),
                            last = ir::cast(wide, boxes({p[0], ir::index(axis + 2)}));
                       const Expr& count = size[static_cast<size_t>(axis)];
                       Expr most = ir::cast(wide, x.dim(axis + 2) - 1.0);
                       Expr steps = ir::cast(wide, ir::max(count - 1.0, 1.0));
                       Expr at = first * most + ir::cast(wide, p[static_cast<size_t>(axis) + 2]) *
                                                    ((last - first) * most / steps);
                       at = ir::select(count > 1.0, at, (first + last) * 0.5 * most);
                       inside = inside && at >= 0.0 && at <= most;
                       place.push_back(ir::min(ir::max(at, 0.0), most));
                     }
                     auto element = [&](const Expr& row, const Expr& column) {
                       return ir::cast(wide, x({image, p[1], as_index(row), as_index(column)}));
                     };
                     Expr value;
                     if (mode == "nearest") {
                       value = element(ir::floor(place[0] + 0.5), ir::floor(place[1] + 0.5));
                     } else {
                       Expr top = ir::floor(place[0]), left = ir::floor(place[1]);
                       Expr bottom = ir::ceil(place[0]), right = ir::ceil(place[1]),
                            share = place[1] - left;
                       auto row = [&](const Expr& at) {
                         Expr a = element(at, left);
                         return a + (element(at, right) - a) * share;
                       };
                       Expr upper = row(top);
                       value = upper + (row(bottom) - upper) * (place[0] - top);
                     }
                     return ir::cast(dtype, ir::select(inside, value, ir::constant(wide, outside)));
                   }));
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_image_family() {
  using N = Numbers;
  std::string ms(microsoft);
  auto optional = InputDef::optional;
  std::vector<AttributeDef> groups = {
      {"activation", {}, true}, {"channels_last", 1}, {"epsilon", 1e-5}, {"groups", {}, true}};
  return {
      {.name = "GroupNorm",
       .doc = "Normalises groups of channels, then SiLU if asked.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"gamma", any_float}, {"beta", any_float}},
       .attributes = groups,
       .define = [](Builder& b) { return group_norm(b, false); },
       .cases = [] -> Cases {
         return {{.name = "channels last",
                  .shapes = {{2, 3, 3, 4}, {4}, {4}},
                  .attributes = {{"activation", 1}, {"groups", 2}}}};
       }},
      {.name = "SkipGroupNorm",
       .doc = "GroupNorm of a sum.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float},
                  {"gamma", any_float},
                  {"beta", any_float},
                  {"skip", any_float},
                  {"bias", any_float, optional}},
       .outputs = {"Y", "S"},
       .attributes = groups,
       .define = [](Builder& b) { return group_norm(b, true); },
       .cases = [] -> Cases {
         return {{.name = "bias, a row a sample",
                  .shapes = {{2, 3, 3, 4}, {4}, {4}, {2, 4}, {4}},
                  .attributes = {{"activation", 0}, {"groups", 2}}}};
       }},
      {.name = "NhwcMaxPool",
       .doc = "MaxPool of images with channels last.",
       .domain = ms,
       .since = 1,
       .inputs = {{"x", only(DType::u8) | only(DType::i8)}},
       .attributes = {{"auto_pad", "NOTSET"},
                      {"ceil_mode", 0},
                      {"dilations", N{}},
                      {"kernel_shape", {}, true},
                      {"pads", N{}},
                      {"strides", N{}}},
       .define = nhwc_max_pool,
       .cases = [] -> Cases {
         return {{.name = "two",
                  .shapes = {{1, 4, 5, 2}},
                  .attributes = {{"kernel_shape", N{2, 2}}},
                  .dtype = DType::u8,
                  .low = 0,
                  .high = 255}};
       }},
      {.name = "CropAndResize",
       .doc = "Boxes of images, sampled to one size.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float},
                  {"rois", any_float},
                  {"batch_indices", only(DType::i32)},
                  {"crop_size", only(DType::i32)}},
       .attributes = {{"extrapolation_value", 0.0}, {"mode", "bilinear"}},
       .define = crop_and_resize,
       .cases = [] -> Cases {
         return {{.name = "bilinear",
                  .shapes = {{1, 2, 5, 6}},
                  .inputs = {{},
                             floats({2, 4}, {0.1f, 0.2f, 0.9f, 0.7f, -0.2f, 0, 1, 1.1f}),
                             int32s({2}, {0, 0}),
                             int32s({2}, {3, 4})}}};
       }},
      {.name = "GridSample",
       .doc = "Samples X at the places a grid says, in coordinates from -1 to 1.",
       .domain = ms,
       .since = 1,
       .inputs = {{"X", any_float}, {"Grid", any_float}},
       .attributes = {{"align_corners", 0}, {"mode", "bilinear"}, {"padding_mode", "zeros"}},
       .define = [](Builder& b) -> Result<> {
         GS_ASSIGN(Tensor y, b.call1("GridSample", {b.input(0), b.input(1)},
                                     passed_on(b, {"align_corners", "mode", "padding_mode"})));
         b.output(0, y);
         return {};
       },
       .cases = [] -> Cases {
         return {
             {.name = "linear", .shapes = {{1, 2, 4, 5}, {1, 3, 3, 2}}, .low = -1.2, .high = 1.2}};
       }},
  };
}

}  // namespace gossamer::ops
