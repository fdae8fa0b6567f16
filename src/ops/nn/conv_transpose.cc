// Transposed convolution, as ordinary ones over the input, one for each place between its elements
// where a stride puts an output; with strides and dilations, as one over the input spread out by
// the strides.
#include <algorithm>

#include "ir/print.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/window.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

struct Spread {
  // One entry a spatial axis; `lead`: zeros before the first element, `begin`: outputs that are cut
  // off there.
  Shape out, lead, begin;
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
    spread.begin.push_back(b.simplify(begin));
  }
  return spread;
}

// What the forms of the operator share.
struct Operands {
  Tensor x, w;
  int64_t group;
  Numbers strides, dilations;
  Spread spread;
  Shape shape;  // of the output

  size_t rank() const { return strides.size(); }
  Expr inputs_per_group(const Builder& b) const {
    return b.simplify(ir::floordiv(x.dim(1), group));
  }
  // The input's channel and the weight's second index for an output channel and a step over a
  // group's inputs.
  std::pair<Expr, Expr> channels(const Builder& b, const Expr& out, const Expr& step) const {
    if (group == 1) return {step, out};
    return {ir::floordiv(out, w.dim(1)) * inputs_per_group(b) + step, ir::floormod(out, w.dim(1))};
  }
  std::function<Expr(Point, Expr)> finish(Builder& b) const {
    return [&b, dtype = x.dtype()](Point out, Expr sum) {
      if (b.has(2)) sum = sum + ir::cast(sum->type, b.input(2)({out[1]}));
      return ir::cast(dtype, sum);
    };
  }
};

// Over the input with zeros between its elements.
Tensor over_spread(Builder& b, const Operands& of) {
  const size_t rank = of.rank();
  const Tensor &x = of.x, &w = of.w;
  const Shape kernel = spatial_of(w);
  Shape spread_shape = {x.dim(0), x.dim(1)};
  for (size_t i = 0; i < rank; ++i)
    spread_shape.push_back(of.shape[i + 2] +
                           (kernel[i] - 1) * static_cast<double>(of.dilations[i]));
  const Tensor wide = b.compute("conv_transpose.pad", x.dtype(), spread_shape, [&](Point point) {
    std::vector<Expr> at = {point[0], point[1]};
    Expr inside;
    auto also = [&](Expr condition) { inside = inside ? inside && condition : condition; };
    for (size_t i = 0; i < rank; ++i) {
      Expr place = b.simplify(point[i + 2] - of.spread.lead[i]);
      const Expr& extent = x.shape()[i + 2];
      const int64_t stride = of.strides[i];
      also(place >= 0);
      also(place <= (extent - 1) * static_cast<double>(stride));
      if (stride > 1) also(ir::floormod(place, stride) == 0);
      at.push_back(stride > 1 ? ir::floordiv(place, stride) : place);
    }
    return ir::select(inside, x.at(at), ir::zero(x.dtype()));
  });

  Shape extents = {of.inputs_per_group(b)};
  extents.insert(extents.end(), kernel.begin(), kernel.end());
  const Type sum_type = accumulator(x.dtype());
  return b.reduce(
      "conv_transpose", Builder::Join::sum, x.dtype(), of.shape, extents,
      [&](Point out, Point over) {
        const auto [in, within] = of.channels(b, out[1], over[0]);
        std::vector<Expr> at_x = {out[0], in}, at_w = {in, within};
        for (size_t i = 0; i < rank; ++i) {
          at_x.push_back(
              b.simplify(out[i + 2] + over[i + 1] * static_cast<double>(of.dilations[i])));
          at_w.push_back(b.simplify(kernel[i] - 1 - over[i + 1]));
        }
        return ir::cast(sum_type, wide.at(at_x)) * ir::cast(sum_type, w.at(at_w));
      },
      of.finish(b));
}

// Output `stride * j + phase` (counted with those that are cut off) meets taps phase, phase +
// stride, ... of the kernel alone, at the inputs j, j - 1, ...: a convolution for each phase, all
// of them one reduction, then put in order.
Tensor by_phases(Builder& b, const Operands& of) {
  const size_t rank = of.rank();
  const Tensor &x = of.x, &w = of.w;
  const DType dtype = x.dtype();
  Shape phases, taps, places, padded = {x.dim(0), x.dim(1)};
  for (size_t i = 0; i < rank; ++i) {
    const int64_t stride = of.strides[i];
    phases.push_back(ir::index(stride));
    taps.push_back(b.simplify(ir::floordiv(w.shape()[i + 2] + (stride - 1), stride)));
    places.push_back(
        b.simplify(ir::floordiv(of.shape[i + 2] - 1 + of.spread.begin[i], stride) + 1));
    padded.push_back(b.simplify(places[i] + taps[i] - 1));
  }
  // Taps in the order of the inputs that they meet; a kernel may end before the last phase.
  Shape weights = {w.dim(0), w.dim(1)};
  weights.insert(weights.end(), phases.begin(), phases.end());
  weights.insert(weights.end(), taps.begin(), taps.end());
  const Tensor turned = b.compute("conv_transpose.taps", dtype, weights, [&](Point p) {
    std::vector<Expr> at = {p[0], p[1]};
    Expr inside;
    for (size_t i = 0; i < rank; ++i) {
      const Expr tap = b.simplify(p[2 + i] + (taps[i] - 1 - p[2 + rank + i]) *
                                                 static_cast<double>(of.strides[i]));
      const Expr exists = tap < w.shape()[i + 2];
      inside = inside ? inside && exists : exists;
      at.push_back(tap);
    }
    return ir::select(inside, w.at(at), ir::zero(dtype));
  });
  Shape begin(2, ir::index(0)), end(2, ir::index(0));
  for (size_t i = 0; i < rank; ++i) {
    begin.push_back(b.simplify(taps[i] - 1));
    end.push_back(b.simplify(ir::max(places[i] - x.shape()[i + 2], 0.0)));
  }
  const Tensor wide = pad_constant(b, "conv_transpose.pad", x, begin, end, ir::zero(dtype));

  Shape shape = {of.shape[0], of.shape[1]}, extents = {of.inputs_per_group(b)};
  shape.insert(shape.end(), phases.begin(), phases.end());
  shape.insert(shape.end(), places.begin(), places.end());
  extents.insert(extents.end(), taps.begin(), taps.end());
  const Type sum_type = accumulator(dtype);
  const Tensor apart = b.reduce(
      "conv_transpose", Builder::Join::sum, dtype, shape, extents,
      [&](Point out, Point over) {
        const auto [in, within] = of.channels(b, out[1], over[0]);
        std::vector<Expr> at_x = {out[0], in}, at_w = {in, within};
        for (size_t i = 0; i < rank; ++i) {
          at_x.push_back(out[2 + rank + i] + over[i + 1]);
          at_w.push_back(out[2 + i]);
        }
        for (size_t i = 0; i < rank; ++i) at_w.push_back(over[i + 1]);
        return ir::cast(sum_type, wide.at(at_x)) * ir::cast(sum_type, turned.at(at_w));
      },
      of.finish(b));
  return b.compute("conv_transpose.join", dtype, of.shape, [&](Point out) {
    std::vector<Expr> at = {out[0], out[1]};
    for (size_t i = 0; i < rank; ++i)
      at.push_back(b.simplify(ir::floormod(out[i + 2] + of.spread.begin[i], of.strides[i])));
    for (size_t i = 0; i < rank; ++i)
      at.push_back(b.simplify(ir::floordiv(out[i + 2] + of.spread.begin[i], of.strides[i])));
    return apart.at(at);
  });
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
  const Expr outputs = w.dim(1) * static_cast<double>(group);
  GS_TRY(has_shape(b, 2, {outputs}));
  Operands of{x, w, group, b.integers("strides"), b.integers("dilations"), {}, {x.dim(0), outputs}};
  if (of.strides.empty()) of.strides.assign(kernel.size(), 1);
  if (of.dilations.empty()) of.dilations.assign(kernel.size(), 1);
  GS_ASSIGN(of.spread, plan(b, x, kernel, of.strides, of.dilations));
  of.shape.insert(of.shape.end(), of.spread.out.begin(), of.spread.out.end());
  const auto is_one = [](int64_t value) { return value == 1; };
  const bool strided = !std::ranges::all_of(of.strides, is_one);
  const bool apart = strided && std::ranges::all_of(of.dilations, is_one);
  b.output(0, apart ? by_phases(b, of) : over_spread(b, of));
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
       .cases = [] -> Cases {
         return {{.name = "plain", .shapes = {{1, 2, 3, 3}, {2, 4, 3, 3}}},
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
                  .attributes = {{"auto_pad", "SAME_UPPER"}, {"strides", N{2, 2}}}}};
       }},
  };
}

}  // namespace gossamer::ops
