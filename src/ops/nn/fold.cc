// Windows put back where they came from: each element of the image asks the windows that cover it.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/window.h"
#include "ops/reshape_index.h"

namespace gossamer::ops {
namespace {

using stages::Accumulators;

Result<> col2im(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> image, b.host(1));
  GS_ASSIGN(std::vector<Expr> block, b.host(2));
  if (x.rank() != 3) return b.error(cat("input has rank ", x.rank()), "it must have rank 3");
  if (image.size() != block.size() || image.empty())
    return b.error("image_shape and block_shape differ in length");
  // The windows that made the columns: one column each.
  GS_ASSIGN(Window window, make_window(b, image, block));
  size_t axes = window.rank();
  Expr taps = product(block), columns = product(window.out);
  GS_TRY(b.require(ir::floormod(x.dim(1), taps) == 0 && x.dim(2) == columns,
                   "the input's extents are not channels * block and the number of blocks"));
  Shape shape = {x.dim(0), b.simplify(ir::floordiv(x.dim(1), taps))};
  shape.insert(shape.end(), image.begin(), image.end());
  DType wide = accumulator(x.dtype());
  b.output(0,
           b.reduce("col2im", Builder::Join::sum, x.dtype(), shape, block, [&](Point p, Point r) {
             Expr row = p[1], column = ir::index(0), inside = ir::boolean(true);
             for (size_t i = 0; i < axes; ++i) {
               // Where the window whose tap r lies here starts, in steps.
               Expr start =
                   p[i + 2] + window.pad_begin[i] - r[i] * static_cast<double>(window.dilations[i]);
               Expr step = ir::floordiv(start, window.strides[i]);
               inside = inside && start >= 0 && step < window.out[i] &&
                        ir::floormod(start, window.strides[i]) == 0;
               row = row * block[i] + r[i];
               column = column * window.out[i] + step;
             }
             Expr load = x({p[0], b.simplify(row), b.simplify(column)});
             return ir::select(b.simplify(inside), ir::cast(wide, load), ir::zero(wide));
           }));
  return {};
}

// Indices are those of MaxPool: within the window of the element they belong to.
Result<> max_unpool(Builder& b) {
  const Tensor &x = b.input(0), &indices = b.input(1);
  Numbers kernel = b.integers("kernel_shape"), strides = b.integers("strides"),
          pads = b.integers("pads");
  size_t axes = kernel.size();
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (axes == 0 || static_cast<size_t>(x.rank()) != axes + 2 || indices.rank() != x.rank() ||
      strides.size() != axes || pads.size() != 2 * axes)
    return b.error("the ranks of X and I, `kernel_shape`, `strides` and `pads` do not fit");
  auto positive = [](int64_t value) { return value > 0; };
  if (!std::ranges::all_of(kernel, positive) || !std::ranges::all_of(strides, positive))
    return b.error("`kernel_shape` and `strides` must be positive");
  for (int i = 0; i < x.rank(); ++i) {
    GS_TRY(b.require(x.dim(i) == indices.dim(i), "X and I differ in shape"));
  }
  Shape inferred = {x.dim(0), x.dim(1)}, over;
  for (size_t i = 0; i < axes; ++i) {
    Expr span = (x.shape()[i + 2] - 1) * static_cast<double>(strides[i]);
    inferred.push_back(
        b.simplify(span + static_cast<double>(kernel[i] - pads[i] - pads[axes + i])));
    over.push_back(ir::index((kernel[i] + strides[i] - 1) / strides[i]));
  }
  Shape shape = inferred;
  if (b.has(2)) {
    GS_ASSIGN(shape, b.host(2));
    if (shape.size() != inferred.size()) return b.error("output_shape does not have X's rank");
  }
  // (found, value) over the windows that cover the point.
  DType dtype = x.dtype();
  Var found = ir::var("found", DType::i32), value = ir::var("value", dtype);
  Var other_found = ir::var("found", DType::i32), other = ir::var("value", dtype);
  Accumulators accumulators{
      {found, other_found, ir::max(found, other_found), ir::zero(DType::i32)},
      {value, other, ir::select(Expr(found) != 0, value, other), ir::zero(dtype)}};
  b.output(0, b.reduce(
                  "max_unpool", accumulators, dtype, shape, over,
                  [&](Point p, Point r) {
                    Expr place = p[0] * inferred[1] + p[1], inside = ir::boolean(true);
                    std::vector<Expr> at = {p[0], p[1]};
                    for (size_t i = 0; i < axes; ++i) {
                      const Expr& here = p[i + 2];
                      place = place * inferred[i + 2] + here;
                      Expr last = ir::floordiv(here + static_cast<double>(pads[i]), strides[i]);
                      at.push_back(b.simplify(last - r[i]));
                      inside = inside && at.back() >= 0 && at.back() < x.shape()[i + 2] &&
                               here < inferred[i + 2];
                    }
                    Expr aims = as_index(indices.at(at)) == b.simplify(place);
                    aims = ir::select(b.simplify(inside), aims, ir::boolean(false));
                    return std::vector<Expr>{ir::cast(DType::i32, aims),
                                             ir::select(aims, x.at(at), ir::zero(dtype))};
                  },
                  [](Point, std::span<const Var> best) { return Expr(best[1]); }));
  return {};
}

}  // namespace

std::vector<OpDef> fold_family() {
  using N = Numbers;
  TypeSet i64 = only(DType::i64);
  auto shapes = [](N image, N block) {
    int64_t rank = static_cast<int64_t>(image.size());
    return std::vector<TensorData>{{}, int64s({rank}, image), int64s({rank}, block)};
  };
  return {
      {.name = "Col2Im",
       .doc = "Sums columns of blocks into the image they were cut from.",
       .since = 18,
       .inputs = {{"input", any_number}, {"image_shape", i64}, {"block_shape", i64}},
       .outputs = {"output"},
       .attributes = {{"dilations", N{}}, {"pads", N{}}, {"strides", N{}}},
       .define = col2im,
       .cases = [=] -> Cases {
         return {{.name = "tiles", .shapes = {{1, 5, 5}}, .inputs = shapes({5, 5}, {1, 5})},
                 {.name = "overlapping",
                  .shapes = {{2, 18, 12}},
                  .attributes = {{"dilations", N{1, 2}}, {"pads", N{0, 1, 1, 1}}},
                  .inputs = shapes({4, 6}, {3, 3})},
                 {.name = "strided",
                  .shapes = {{1, 4, 9}},
                  .attributes = {{"strides", N{2, 2}}},
                  .inputs = shapes({6, 7}, {2, 2})}};
       }},
      {.name = "MaxUnpool",
       .doc = "Puts MaxPool's elements back where they were, 0 elsewhere.",
       .since = 22,
       .inputs = {{"X", any_float}, {"I", i64}, {"output_shape", i64, InputDef::optional}},
       .outputs = {"output"},
       .attributes = {{"kernel_shape", N{}, true}, {"pads", N{}}, {"strides", N{}}},
       .define = max_unpool,
       .cases = [] -> Cases {
         return {{.name = "quarters",
                  .shapes = {{1, 1, 2, 2}},
                  .attributes = {{"kernel_shape", N{2, 2}}, {"strides", N{2, 2}}},
                  .inputs = {{}, int64s({1, 1, 2, 2}, {5, 7, 13, 15})}},
                 {.name = "overlapping",
                  .attributes = {{"kernel_shape", N{3}}},
                  .inputs = {floats({1, 2, 3}, {4, 4, 3, 1, 2, 2}),
                             int64s({1, 2, 3}, {2, 2, 4, 5, 7, 7})}},
                 {.name = "larger",
                  .shapes = {{1, 1, 2, 2}},
                  .attributes = {{"kernel_shape", N{2, 2}}, {"strides", N{2, 2}}},
                  .inputs = {{}, int64s({1, 1, 2, 2}, {5, 7, 13, 15}), int64s({4}, {1, 1, 5, 5})}}};
       }},
  };
}

}  // namespace gossamer::ops
