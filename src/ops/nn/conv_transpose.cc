// Transposed convolution, as an ordinary one over the input spread out by the strides.
#include "ir/print.h"
#include "ops/families.h"
#include "ops/nn/window.h"

namespace gossamer::ops {
namespace {

struct Spread {
  Shape out, lead;  // one entry a spatial axis; `lead`: zeros before the first element
};

Result<Spread> plan(const Builder& b, const Tensor& x, const Shape& kernel, const Numbers& strides,
                    const Numbers& dilations) {
  size_t rank = kernel.size();
  Numbers pads = b.integers("pads"), more = b.integers("output_padding");
  Numbers wanted = b.integers("output_shape");
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (more.empty()) more.assign(rank, 0);
  // Some exporters write all axes of the output, not only the spatial ones.
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (pads.size() != 2 * rank || more.size() != rank || strides.size() != rank ||
      dilations.size() != rank || (!wanted.empty() && wanted.size() != rank)) {
    return b.error(cat("strides, dilations, pads, output_padding or output_shape do not fit ", rank,
                       " spatial axes"));
  }
  std::string auto_pad = b.text("auto_pad");
  bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Spread spread;
  for (size_t i = 0; i < rank; ++i) {
    const Expr& extent = x.shape()[i + 2];
    double stride = static_cast<double>(strides[i]);
    Expr reach = (kernel[i] - 1) * static_cast<double>(dilations[i]);
    Expr full = (extent - 1) * stride + static_cast<double>(more[i]) + reach + 1;
    Expr begin = ir::index(pads[i]), out;
    if (!wanted.empty() || same) {
      out = wanted.empty() ? extent * stride : ir::index(wanted[i]);
      Expr total = ir::max(full - out, 0.0);
      // What does not come out even goes to the end for SAME_UPPER, to the beginning otherwise.
      Expr half = ir::floordiv(total, 2);
      begin = auto_pad == "SAME_UPPER" ? half : total - half;
    } else {
      if (auto_pad == "VALID") begin = ir::index(0);
      double end = auto_pad == "VALID" ? 0 : static_cast<double>(pads[rank + i]);
      out = full - begin - end;
    }
    spread.out.push_back(b.simplify(out));
    spread.lead.push_back(b.simplify(reach - begin));
  }
  return spread;
}

Result<> conv_transpose(Builder& b) {
  GS_TRY(same_types(b));
  const Tensor &x = b.input(0), &w = b.input(1);
  if (x.rank() < 3 || x.rank() != w.rank()) {
    return b.error(cat("input has rank ", x.rank(), ", weight has rank ", w.rank()));
  }
  int64_t group = b.integer("group");
  if (group < 1) return b.error("`group` must be positive");
  GS_TRY(b.require(x.dim(1) == w.dim(0), cat("weight has ", ir::print(w.dim(0)),
                                             " input channels, input has ", ir::print(x.dim(1)))));
  GS_TRY(b.require(ir::floormod(x.dim(1), group) == 0,
                   cat("input channels do not divide into ", group, " groups")));
  Shape kernel = spatial_of(w);
  size_t rank = kernel.size();
  GS_TRY(has_shape(b, 2, {w.dim(1) * static_cast<double>(group)}));
  Numbers strides = b.integers("strides"), dilations = b.integers("dilations");
  if (strides.empty()) strides.assign(rank, 1);
  if (dilations.empty()) dilations.assign(rank, 1);
  GS_ASSIGN(Spread spread, plan(b, x, kernel, strides, dilations));

  Shape spread_shape = {x.dim(0), x.dim(1)},
        shape = {x.dim(0), w.dim(1) * static_cast<double>(group)};
  for (size_t i = 0; i < rank; ++i) {
    spread_shape.push_back(spread.out[i] + (kernel[i] - 1) * static_cast<double>(dilations[i]));
    shape.push_back(spread.out[i]);
  }
  Tensor wide = b.compute("conv_transpose.pad", x.dtype(), spread_shape, [&](Point point) {
    std::vector<Expr> at = {point[0], point[1]};
    Expr inside;
    auto also = [&](Expr condition) { inside = inside ? inside && condition : condition; };
    for (size_t i = 0; i < rank; ++i) {
      Expr place = b.simplify(point[i + 2] - spread.lead[i]);
      const Expr& extent = x.shape()[i + 2];
      also(place >= 0);
      also(place <= (extent - 1) * static_cast<double>(strides[i]));
      if (strides[i] > 1) also(ir::floormod(place, strides[i]) == 0);
      at.push_back(strides[i] > 1 ? ir::floordiv(place, strides[i]) : place);
    }
    return ir::select(inside, x.at(at), ir::zero(x.dtype()));
  });

  Expr inputs_per_group = b.simplify(ir::floordiv(x.dim(1), group));
  const Expr& outputs_per_group = w.dim(1);
  Shape extents = {inputs_per_group};
  extents.insert(extents.end(), kernel.begin(), kernel.end());
  DType dtype = x.dtype();
  Type sum_type = accumulator(dtype);
  b.output(0, b.reduce(
                  "conv_transpose", Builder::Join::sum, dtype, shape, extents,
                  [&](Point out, Point over) {
                    Expr in_channel = over[0], out_channel = out[1];
                    if (group > 1) {
                      in_channel =
                          ir::floordiv(out[1], outputs_per_group) * inputs_per_group + over[0];
                      out_channel = ir::floormod(out[1], outputs_per_group);
                    }
                    std::vector<Expr> at_x = {out[0], in_channel}, at_w = {in_channel, out_channel};
                    for (size_t i = 0; i < rank; ++i) {
                      at_x.push_back(
                          b.simplify(out[i + 2] + over[i + 1] * static_cast<double>(dilations[i])));
                      at_w.push_back(b.simplify(kernel[i] - 1 - over[i + 1]));
                    }
                    return ir::cast(sum_type, wide.at(at_x)) * ir::cast(sum_type, w.at(at_w));
                  },
                  [&](Point out, Expr sum) {
                    if (b.has(2)) sum = sum + ir::cast(sum_type, b.input(2)({out[1]}));
                    return ir::cast(dtype, sum);
                  }));
  return {};
}

}  // namespace

std::vector<OpDef> conv_transpose_family() {
  using N = Numbers;
  return {
      {.name = "ConvTranspose",
       .doc = "Transposed convolution: each input element adds a scaled kernel to the output.",
       .since = 22,
       .inputs = {{"X", any_float}, {"W", any_float}, {"B", any_float, InputDef::optional}},
       .attributes =
           window_attributes({{"group", 1}, {"output_padding", N{}}, {"output_shape", N{}}}),
       .define = conv_transpose,
       .cases = {{.name = "plain", .shapes = {{1, 2, 3, 3}, {2, 4, 3, 3}}},
                 {.name = "strided",
                  .shapes = {{1, 2, 3, 4}, {2, 3, 3, 3}, {3}},
                  .attributes = {{"strides", N{3, 2}}, {"output_padding", N{1, 1}}}},
                 {.name = "padded",
                  .shapes = {{1, 1, 3, 3}, {1, 2, 3, 3}},
                  .attributes = {{"strides", N{3, 2}}, {"pads", N{1, 2, 1, 2}}}},
                 {.name = "dilated",
                  .shapes = {{1, 1, 3, 3}, {1, 1, 2, 2}},
                  .attributes = {{"dilations", N{2, 2}}}},
                 {.name = "groups",
                  .shapes = {{1, 4, 3, 3}, {4, 1, 2, 2}},
                  .attributes = {{"group", 2}, {"strides", N{2, 2}}}},
                 {.name = "line", .shapes = {{2, 1, 5}, {1, 2, 3}}},
                 {.name = "same",
                  .shapes = {{1, 1, 3, 3}, {1, 2, 3, 3}},
                  .attributes = {{"auto_pad", "SAME_UPPER"}, {"strides", N{2, 2}}}}}},
  };
}

}  // namespace gossamer::ops
