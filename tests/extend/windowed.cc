// A windowed operator of three stages: two reductions over the taps, and their difference. Padding
// is whatever leaves a reduction alone.
#include "extend/entries.h"
#include "ops/nn/window.h"
#include "ops/shape_checks.h"

namespace gossamer::extend {
namespace {

using ir::Expr;
using ops::Point;
using ops::Tensor;

Result<> define(ops::Builder& b) {
  const Tensor &x = b.input(0), &element = b.input(1);
  GS_TRY(ops::same_types(b));
  if (x.rank() < 3) return b.error(cat("input has rank ", x.rank()), "it needs spatial axes");
  GS_ASSIGN(const ops::Window window, ops::make_window(b, ops::spatial_of(x), element.shape()));
  ops::Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  const auto joined = [&](const char* name, ops::Builder::Join join, double sign, Expr fill) {
    const Tensor padded = ops::pad_for(b, name, x, window, std::move(fill));
    return b.reduce(name, join, x.dtype(), shape, window.kernel, [&](Point out, Point over) {
      std::vector<Expr> at = {out[0], out[1]};
      for (size_t i = 0; i < window.rank(); ++i)
        at.push_back(b.simplify(ops::tap_at(window, i, out[i + 2], over[i])));
      return padded.at(at) + element.at(over) * sign;
    });
  };
  const Tensor dilated =
      joined("gradient.dilated", ops::Builder::Join::max, 1, ir::lowest(x.dtype()));
  const Tensor eroded =
      joined("gradient.eroded", ops::Builder::Join::min, -1, ir::highest(x.dtype()));
  b.output(0, b.compute("gradient", x.dtype(), shape,
                        [&](Point at) { return dilated.at(at) - eroded.at(at); }));
  return {};
}

}  // namespace

ops::OpDef morphological_gradient() {
  using N = ops::Numbers;
  return {
      .name = "MorphologicalGradient",
      .doc = "Dilation less erosion of images, by the structuring element `element`.",
      .domain = std::string(domain),
      .since = 1,
      .inputs = {{"X", ops::any_float}, {"element", ops::any_float}},
      .attributes = {{"auto_pad", "NOTSET"}, {"dilations", N{}}, {"pads", N{}}, {"strides", N{}}},
      .define = define,
      .cases = [] -> ops::Cases {
        return {
            {.name = "default", .shapes = {{1, 2, 6, 7}, {3, 3}}},
            {.name = "padded",
             .shapes = {{2, 5, 8, 8}, {3, 3}},
             .attributes = {{"pads", N{1, 1, 1, 1}}}},
            {.name = "strides and dilations",
             .shapes = {{1, 4, 11, 9}, {2, 3}},
             .attributes = {{"strides", N{2, 1}}, {"dilations", N{1, 2}}, {"pads", N{0, 2, 1, 2}}}},
            {.name = "one axis", .shapes = {{2, 3, 17}, {5}}}};
      }};
}

}  // namespace gossamer::extend
