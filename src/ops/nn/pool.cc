// Pools: reductions over windows, or over all spatial axes.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/microsoft/fused.h"
#include "ops/nn/window.h"

namespace gossamer::ops {
namespace {

using stages::Accumulators;

struct Pool {
  Window window;
  Shape shape;
};

Result<Pool> make_pool(const Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() < 3) return b.error(cat("input has rank ", x.rank()), "it needs spatial axes");
  Shape kernel;
  for (int64_t extent : b.integers("kernel_shape")) {
    if (extent < 1) return b.error("`kernel_shape` must be positive");
    kernel.push_back(ir::index(extent));
  }
  if (kernel.empty()) return b.error("attribute `kernel_shape` is missing");
  GS_ASSIGN(Window window, make_window(b, spatial_of(x), kernel));
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  return Pool{std::move(window), std::move(shape)};
}

std::vector<Expr> taps(const Builder& b, const Window& window, Point out, Point over) {
  std::vector<Expr> at = {out[0], out[1]};
  for (size_t i = 0; i < window.rank(); ++i) {
    at.push_back(b.simplify(tap_at(window, i, out[i + 2], over[i])));
  }
  return at;
}

// Where the largest element lies in all of x, flattened; the first one of equals.
Tensor max_indices(Builder& b, const Tensor& x, const Tensor& padded, const Pool& pool) {
  const Window& window = pool.window;
  Type value_type = x.dtype();
  Var value = ir::var("best", value_type), place = ir::var("place");
  Var other = ir::var("other", value_type), other_place = ir::var("other_place");
  Expr wins =
      Expr(other) > Expr(value) || (Expr(other) == Expr(value) && Expr(other_place) < Expr(place));
  Accumulators accumulators{
      {value, other, ir::select(wins, other, value), ir::lowest(value_type)},
      {place, other_place, ir::select(wins, other_place, place), ir::index(0x7fffffff)}};
  bool columns_first = b.integer("storage_order") != 0;
  size_t rank = window.rank();
  return b.reduce(
      "max_pool.indices", accumulators, DType::i64, pool.shape, window.kernel,
      [&](Point out, Point over) {
        std::vector<Expr> at = taps(b, window, out, over);
        Expr load = padded.at(at);
        Expr plane = out[0] * x.dim(1) + out[1], size = ir::index(1), inner = ir::index(0);
        for (size_t k = 0; k < rank; ++k) {
          size_t i = columns_first ? rank - 1 - k : k;
          inner = inner * x.shape()[i + 2] + (at[i + 2] - window.pad_begin[i]);
          size = size * x.shape()[i + 2];
        }
        return std::vector<Expr>{load, b.simplify(plane * size + inner)};
      },
      [](Point, std::span<const Var> best) { return ir::cast(DType::i64, best[1]); });
}

Result<> max_pool(Builder& b) {
  GS_ASSIGN(Pool pool, make_pool(b));
  const Tensor& x = b.input(0);
  Tensor padded = pad_for(b, "max_pool", x, pool.window, ir::lowest(x.dtype()));
  b.output(0, b.reduce("max_pool", Builder::Join::max, x.dtype(), pool.shape, pool.window.kernel,
                       [&](Point out, Point over) {
                         return padded.at(taps(b, pool.window, out, over));
                       }));
  if (b.wants(1)) b.output(1, max_indices(b, x, padded, pool));
  return {};
}

// How many taps of the window at `out` lie in [-before, extent + after) of one axis.
Expr taps_inside(const Window& window, size_t axis, Expr out, Expr extent, Expr before,
                 Expr after) {
  int64_t dilation = window.dilations[axis];
  Expr start = out * static_cast<double>(window.strides[axis]) - window.pad_begin[axis];
  // The first tap at or past -before, and the first past the end.
  Expr first =
      ir::max(ir::floordiv(-before - start + static_cast<double>(dilation - 1), dilation), 0.0);
  Expr past =
      ir::min(ir::floordiv(extent + after - 1.0 - start, dilation) + 1, window.kernel[axis]);
  return past - first;
}

Result<> average_pool(Builder& b) {
  GS_ASSIGN(Pool pool, make_pool(b));
  const Tensor& x = b.input(0);
  const Window& window = pool.window;
  Tensor padded = pad_for(b, "average_pool", x, window, ir::zero(x.dtype()));
  bool count_padding = b.integer("count_include_pad") != 0;
  Type sum_type = accumulator(x.dtype());
  b.output(0, b.reduce(
                  "average_pool", Builder::Join::sum, x.dtype(), pool.shape, window.kernel,
                  [&](Point out, Point over) {
                    return ir::cast(sum_type, padded.at(taps(b, window, out, over)));
                  },
                  [&](Point out, Expr sum) {
                    Expr count = ir::index(1);
                    for (size_t i = 0; i < window.rank(); ++i) {
                      Expr none = ir::index(0);
                      count = count * (padded.buffer.same(x.buffer)
                                           ? window.kernel[i]
                                           : taps_inside(window, i, out[i + 2], x.shape()[i + 2],
                                                         count_padding ? window.pad_begin[i] : none,
                                                         count_padding ? window.pad_end[i] : none));
                    }
                    return ir::cast(x.dtype(), sum / ir::cast(sum_type, b.simplify(count)));
                  }));
  return {};
}

Expr norm_term(Expr x, int64_t p) {
  if (p == 1) return ir::abs(x);
  if (p == 2) return x * x;
  return ir::pow(ir::abs(x), ir::constant(x->type, static_cast<double>(p)));
}
Expr norm_root(Expr sum, int64_t p) {
  if (p == 1) return sum;
  if (p == 2) return norm_of(sum);
  const Expr root = ir::pow(sum, ir::constant(sum->type, 1.0 / static_cast<double>(p)));
  return ir::select(sum > 0.0, root, sum);  // as norm_of
}

Result<> lp_pool(Builder& b) {
  GS_ASSIGN(Pool pool, make_pool(b));
  const Tensor& x = b.input(0);
  int64_t p = b.integer("p");
  Tensor padded = pad_for(b, "lp_pool", x, pool.window, ir::zero(x.dtype()));
  Type sum_type = accumulator(x.dtype());
  b.output(0, b.reduce(
                  "lp_pool", Builder::Join::sum, x.dtype(), pool.shape, pool.window.kernel,
                  [&](Point out, Point over) {
                    return norm_term(ir::cast(sum_type, padded.at(taps(b, pool.window, out, over))),
                                     p);
                  },
                  [&](Point, Expr sum) { return ir::cast(x.dtype(), norm_root(sum, p)); }));
  return {};
}

// Over all spatial axes, which stay with extent 1.
Result<> global_pool(Builder& b, Builder::Join join, const std::function<Expr(Expr)>& term,
                     const std::function<Expr(Expr sum, Expr count)>& last) {
  const Tensor& x = b.input(0);
  if (x.rank() < 2) return b.error(cat("input has rank ", x.rank()), "it is [n, c, spatial...]");
  Shape spatial = spatial_of(x), shape = {x.dim(0), x.dim(1)};
  Expr count = ir::index(1);
  for (const Expr& extent : spatial) {
    shape.push_back(ir::index(1));
    count = count * extent;
  }
  Type sum_type = accumulator(x.dtype());
  b.output(0, b.reduce(
                  stage_name(b), join, x.dtype(), shape, spatial,
                  [&](Point out, Point over) {
                    std::vector<Expr> at = {out[0], out[1]};
                    at.insert(at.end(), over.begin(), over.end());
                    return term(ir::cast(sum_type, x.at(at)));
                  },
                  [&](Point, Expr sum) {
                    return ir::cast(x.dtype(), last(sum, ir::cast(sum->type, b.simplify(count))));
                  }));
  return {};
}

Result<> global_average(Builder& b) {
  return global_pool(
      b, Builder::Join::sum, [](Expr x) { return x; },
      [](Expr sum, Expr count) { return sum / count; });
}
Result<> global_max(Builder& b) {
  return global_pool(
      b, Builder::Join::max, [](Expr x) { return x; }, [](Expr largest, Expr) { return largest; });
}
Result<> global_lp(Builder& b) {
  int64_t p = b.integer("p");
  return global_pool(
      b, Builder::Join::sum, [p](Expr x) { return norm_term(x, p); },
      [p](Expr sum, Expr) { return norm_root(sum, p); });
}

OpDef global(std::string name, Doc doc, Result<> (*define)(Builder&),
             std::vector<AttributeDef> attributes = {},
             std::optional<QuantizedForm> quantized = {}) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 22,
          .inputs = {{"X", any_float}},
          .attributes = std::move(attributes),
          .define = define,
          .quantized = std::move(quantized),
          .cases = [] -> Cases {
            return {{.name = "image", .shapes = {{2, 3, 5, 7}}},
                    {.name = "line", .shapes = {{1, 4, 9}}},
                    {.name = "one", .shapes = {{1, 8, 1, 1}}}};
          }};
}

using N = Numbers;

// Attributes of a case: a square window of this width, and more.
Attributes window(int64_t width, Attributes more = {}) {
  more.insert({"kernel_shape", N{width, width}});
  return more;
}

Cases pool_cases() {
  return {{.name = "plain", .shapes = {{1, 2, 6, 7}}, .attributes = window(2)},
          {.name = "strided",
           .shapes = {{2, 3, 8, 8}},
           .attributes = window(2, {{"strides", N{2, 2}}})},
          {.name = "padded",
           .shapes = {{1, 3, 7, 7}},
           .attributes = window(3, {{"strides", N{2, 2}}, {"pads", N{1, 1, 1, 1}}})},
          {.name = "same",
           .shapes = {{1, 2, 5, 6}},
           .attributes = window(3, {{"auto_pad", "SAME_UPPER"}, {"strides", N{2, 2}}})},
          {.name = "ceil",
           .shapes = {{1, 1, 6, 6}},
           .attributes = window(3, {{"ceil_mode", 1}, {"strides", N{2, 2}}})},
          {.name = "dilated",
           .shapes = {{1, 2, 7, 7}},
           .attributes = window(2, {{"dilations", N{2, 2}}, {"pads", N{1, 0, 1, 1}}})},
          {.name = "line", .shapes = {{2, 3, 9}}, .attributes = {{"kernel_shape", N{3}}}},
          {.name = "volume",
           .shapes = {{1, 1, 4, 4, 4}},
           .attributes = {{"kernel_shape", N{2, 2, 2}}}}};
}

Cases average_pool_cases() {
  Cases cases = pool_cases();
  cases.push_back({.name = "count padding",
                   .shapes = {{1, 2, 5, 5}},
                   .attributes = window(3, {{"pads", N{1, 1, 1, 1}}, {"count_include_pad", 1}})});
  cases.push_back({.name = "count padding, ceil",
                   .shapes = {{1, 1, 6, 6}},
                   .attributes = window(3, {{"pads", N{1, 1, 0, 0}},
                                            {"count_include_pad", 1},
                                            {"ceil_mode", 1},
                                            {"strides", N{2, 2}}})});
  return cases;
}

}  // namespace

std::vector<OpDef> pool_family() {
  return {
      {.name = "MaxPool",
       .doc = "The largest element of each window, and where it is.",
       .since = 22,
       .inputs = {{"X", any_float | only(DType::i8) | only(DType::u8)}},
       .outputs = {"Y", "Indices"},
       .attributes = window_attributes({{"ceil_mode", 0}, {"storage_order", 0}}),
       .define = max_pool,
       .cases = pool_cases},
      {.name = "AveragePool",
       .doc = "The mean of each window; padding counts if asked.",
       .since = 22,
       .inputs = {{"X", any_float}},
       .attributes = window_attributes({{"ceil_mode", 0}, {"count_include_pad", 0}}),
       .define = average_pool,
       .cases = average_pool_cases},
      {.name = "LpPool",
       .doc = "The p-norm of each window.",
       .since = 22,
       .inputs = {{"X", any_float}},
       .attributes = window_attributes({{"ceil_mode", 0}, {"p", 2}}),
       .define = lp_pool,
       .cases = [] -> Cases {
         return {{.name = "plain", .shapes = {{1, 2, 6, 7}}, .attributes = window(2)},
                 {.name = "cube",
                  .shapes = {{1, 3, 5, 5}},
                  .attributes = window(3, {{"p", 3}, {"pads", N{1, 1, 1, 1}}})}};
       }},
      global("GlobalAveragePool", "The mean of each channel.", global_average, {},
             {{std::string(microsoft), "QLinearGlobalAveragePool", {{}}}}),
      global("GlobalMaxPool", "The largest element of each channel.", global_max),
      global("GlobalLpPool", "The p-norm of each channel.", global_lp, {{"p", 2}}),
  };
}

}  // namespace gossamer::ops
