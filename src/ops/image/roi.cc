// Convolution and pooling at places that data gives: samples between elements.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/nn/window.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> deform_conv(Builder& b) {
  const Tensor &x = b.input(0), &w = b.input(1), &offset = b.input(2), &bias = b.input(3),
               &mask = b.input(4);
  GS_TRY(same_types(b));
  if (x.rank() < 3 || w.rank() != x.rank() || offset.rank() != x.rank() ||
      (mask && mask.rank() != x.rank()) || (bias && bias.rank() != 1))
    return b.error("X, W, offset and mask have one rank, at least 3");
  Shape kernel(w.shape().begin() + 2, w.shape().end());
  GS_ASSIGN(Window window, make_window(b, spatial_of(x), kernel));
  size_t axes = window.rank();
  int64_t groups = b.integer("group"), offset_groups = b.integer("offset_group");
  if (groups < 1 || offset_groups < 1) return b.error("`group` and `offset_group` are positive");
  Expr taps = ir::index(1);
  for (const Expr& extent : kernel) taps = b.simplify(taps * extent);
  double coordinates = static_cast<double>(axes), offsets = static_cast<double>(offset_groups);
  GS_TRY(b.require(w.dim(1) * static_cast<double>(groups) == x.dim(1) &&
                       ir::floormod(w.dim(0), groups) == 0 &&
                       ir::floormod(x.dim(1), offset_groups) == 0,
                   "channels do not divide into `group` or `offset_group`"));
  GS_TRY(b.require(offset.dim(1) == taps * (coordinates * offsets),
                   "offset has one channel a group, tap and coordinate"));
  if (mask) {
    GS_TRY(b.require(mask.dim(1) == taps * offsets, "mask has one channel a group and tap"));
  }
  for (size_t i = 0; i < axes; ++i) {
    GS_TRY(b.require(offset.shape()[i + 2] == window.out[i], "offset has the output's extents"));
  }
  DType dtype = x.dtype(), wide = accumulator(dtype);
  // [n, channel, taps..., out...]: X between elements, as a sum over the corners around the place.
  Shape sampled = {x.dim(0), x.dim(1)};
  sampled.insert(sampled.end(), kernel.begin(), kernel.end());
  sampled.insert(sampled.end(), window.out.begin(), window.out.end());
  Expr per_group = ir::floordiv(x.dim(1), offset_groups);
  Tensor samples =
      b.reduce("deform_conv.sample", Builder::Join::sum, wide, sampled, Shape(axes, ir::index(2)),
               [&](Point p, Point corner) {
                 Expr tap = ir::index(0);
                 for (size_t i = 0; i < axes; ++i) tap = tap * kernel[i] + p[2 + i];
                 Expr channel = ir::floordiv(p[1], per_group) * taps + tap;
                 std::vector<Expr> out(p.begin() + 2 + static_cast<std::ptrdiff_t>(axes), p.end());
                 std::vector<Expr> at = {p[0], p[1]};
                 Expr weight, inside;
                 for (size_t i = 0; i < axes; ++i) {
                   std::vector<Expr> from = {
                       p[0], b.simplify(channel * coordinates + static_cast<double>(i))};
                   from.insert(from.end(), out.begin(), out.end());
                   Expr start = tap_at(window, i, out[i], p[2 + i]) - window.pad_begin[i];
                   Expr place = ir::cast(wide, b.simplify(start)) + ir::cast(wide, offset.at(from));
                   Expr low = ir::floor(place), share = place - low;
                   Expr here = low + ir::cast(wide, corner[i]);
                   Expr part = ir::select(corner[i] == 0, 1.0 - share, share);
                   Expr fits = here >= 0 && here <= ir::cast(wide, x.shape()[i + 2] - 1);
                   weight = weight ? weight * part : part;
                   inside = inside ? inside && fits : fits;
                   at.push_back(as_index(here));
                 }
                 Expr value = ir::select(inside, ir::cast(wide, x.at(at)) * weight, ir::zero(wide));
                 if (mask) {
                   std::vector<Expr> from = {p[0], b.simplify(channel)};
                   from.insert(from.end(), out.begin(), out.end());
                   value = value * ir::cast(wide, mask.at(from));
                 }
                 return value;
               });
  Shape shape = {x.dim(0), w.dim(0)}, over = {w.dim(1)};
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  over.insert(over.end(), kernel.begin(), kernel.end());
  Expr rows = ir::floordiv(w.dim(0), groups);
  b.output(0, b.reduce(
                  "deform_conv", Builder::Join::sum, dtype, shape, over,
                  [&](Point p, Point r) {
                    std::vector<Expr> at = {p[0],
                                            b.simplify(ir::floordiv(p[1], rows) * w.dim(1) + r[0])},
                                      from = {p[1]};
                    at.insert(at.end(), r.begin() + 1, r.end());
                    at.insert(at.end(), p.begin() + 2, p.end());
                    from.insert(from.end(), r.begin(), r.end());
                    return samples.at(at) * ir::cast(wide, w.at(from));
                  },
                  [&](Point p, Expr sum) {
                    return ir::cast(dtype, bias ? sum + ir::cast(wide, bias({p[1]})) : sum);
                  }));
  return {};
}

// One axis of a region: where its samples lie.
struct RoiAxis {
  Expr start, bin, steps;  // steps: samples a bin
  Expr extent;             // of X
};

// The weight of the element `corner` (0 or 1) of the two around sample `step` of bin `at`, and
// where it is. A sample more than one element outside weighs 0.
std::pair<Expr, Expr> sample(const RoiAxis& axis, Expr at, Expr step, Expr corner, DType wide) {
  Expr size = ir::cast(wide, axis.extent);
  Expr place = axis.start + ir::cast(wide, at) * axis.bin +
               (ir::cast(wide, step) + 0.5) * axis.bin / ir::cast(wide, axis.steps);
  Expr outside = place < -1.0 || place > size;
  place = ir::min(ir::max(place, 0.0), size - 1.0);
  Expr low = ir::floor(place), share = place - low;
  Expr weight = ir::select(corner == 0, 1.0 - share, share);
  Expr index = ir::min(as_index(low) + corner, axis.extent - 1);
  return {ir::select(outside, ir::zero(wide), weight), ir::select(outside, ir::index(0), index)};
}

Result<> roi_align(Builder& b) {
  const Tensor &x = b.input(0), &rois = b.input(1), &batches = b.input(2);
  std::string mode = b.text("mode"), transform = b.text("coordinate_transformation_mode");
  int64_t rows = b.integer("output_height"), columns = b.integer("output_width"),
          ratio = b.integer("sampling_ratio");
  if (x.rank() != 4 || rois.rank() != 2 || batches.rank() != 1)
    return b.error("X has rank 4, rois rank 2, batch_indices rank 1");
  if (rois.dtype() != x.dtype()) return b.error("X and rois differ in type");
  if (mode != "avg" && mode != "max")
    return b.error(cat("`mode` is \"", mode, "\""), "it must be avg or max");
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    return b.error(cat("`coordinate_transformation_mode` is \"", transform, "\""),
                   "it must be half_pixel or output_half_pixel");
  }
  if (rows < 1 || columns < 1 || ratio < 0)
    return b.error(
        "`output_height` and `output_width` are positive, `sampling_ratio` is not less "
        "than 0");
  GS_TRY(b.require(rois.dim(1) == 4 && rois.dim(0) == batches.dim(0),
                   "rois are [regions, 4], batch_indices [regions]"));
  DType dtype = x.dtype(), wide = accumulator(dtype);
  bool half = transform == "half_pixel", mean = mode == "avg";
  auto axis_of = [&](Expr roi, int which, int64_t bins) {
    auto edge = [&](int k) {
      Expr place = ir::cast(wide, rois({roi, ir::index(k)})) * b.number("spatial_scale");
      return half ? place - 0.5 : place;
    };
    Expr start = edge(1 - which), size = edge(3 - which) - start;
    if (!half) size = ir::max(size, 1.0);
    Expr bin = size / static_cast<double>(bins);
    Expr steps = ratio ? ir::index(ratio) : ir::max(as_index(ir::ceil(bin)), 0.0);
    return RoiAxis{start, bin, steps, x.dim(2 + which)};
  };
  // Without a ratio a bin has as many samples as elements: loops run to the most of any region.
  Shape samples = {ir::index(ratio), ir::index(ratio)};
  for (int which = 0; ratio == 0 && which < 2; ++which) {
    Tensor most = b.reduce(
        "roi_align.samples", Builder::Join::max, DType::i32, {}, {rois.dim(0)},
        [&](Point, Point r) {
          return ir::cast(DType::i32, axis_of(r[0], which, which ? columns : rows).steps);
        },
        [](Point, Expr value) { return ir::max(value, 0.0); });
    GS_ASSIGN(std::vector<Expr> count, b.read(most));
    samples[static_cast<size_t>(which)] = count[0];
  }
  Shape shape = {rois.dim(0), x.dim(1), ir::index(rows), ir::index(columns)};
  Expr two = ir::index(2);
  b.output(0, b.reduce(
                  "roi_align", mean ? Builder::Join::sum : Builder::Join::max, dtype, shape,
                  {samples[0], samples[1], two, two},
                  [&](Point p, Point r) {
                    RoiAxis vertical = axis_of(p[0], 0, rows),
                            horizontal = axis_of(p[0], 1, columns);
                    auto [down, row] = sample(vertical, p[2], r[0], r[2], wide);
                    auto [right, column] = sample(horizontal, p[3], r[1], r[3], wide);
                    Expr batch = as_index(batches({p[0]}));
                    Expr value = down * right * ir::cast(wide, x({batch, p[1], row, column}));
                    if (ratio) return value;
                    Expr mine = r[0] < vertical.steps && r[1] < horizontal.steps;
                    return ir::select(mine, value, mean ? ir::zero(wide) : ir::lowest(wide));
                  },
                  [&](Point p, Expr value) {
                    Expr count = axis_of(p[0], 0, rows).steps * axis_of(p[0], 1, columns).steps;
                    if (mean) value = value / ir::cast(wide, ir::max(count, 1.0));
                    if (!mean && !ratio) value = ir::select(count > 0, value, ir::zero(wide));
                    return ir::cast(dtype, value);
                  }));
  return {};
}

// The largest element of each bin of each region [batch, x1, y1, x2, y2]; 0 where a bin is empty.
Result<> max_roi_pool(Builder& b) {
  const Tensor &x = b.input(0), &rois = b.input(1);
  Numbers pooled = b.integers("pooled_shape");
  if (x.rank() != 4 || rois.rank() != 2) return b.error("X has rank 4, rois rank 2");
  GS_TRY(same_types(b));
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    return b.error("`pooled_shape` is a height and a width");
  GS_TRY(b.require(rois.dim(1) == 5, "rois are [regions, 5]"));
  DType dtype = x.dtype(), wide = accumulator(dtype);
  double scale = b.number("spatial_scale");
  struct Bin {
    Expr begin, end;
  };
  // Halves are rounded away from zero.
  auto edge = [&](const Expr& roi, int k) {
    Expr place = ir::cast(wide, rois({roi, ir::index(k)})) * scale;
    return as_index(ir::select(place < 0.0, ir::ceil(place - 0.5), ir::floor(place + 0.5)));
  };
  auto bin = [&](const Expr& roi, int axis, const Expr& at) {
    int64_t bins = pooled[static_cast<size_t>(axis - 2)];
    Expr first = edge(roi, axis == 2 ? 2 : 1), last = edge(roi, axis == 2 ? 4 : 3);
    Expr size = ir::max(last - first + 1.0, 1.0);
    auto inside = [&](const Expr& place) {
      return ir::min(ir::max(place + first, 0.0), x.dim(axis));
    };
    return Bin{inside(ir::floordiv(at * size, bins)),
               inside(ir::floordiv((at + 1.0) * size + static_cast<double>(bins - 1), bins))};
  };
  Expr never = ir::lowest(wide);
  Tensor rows = b.reduce("max_roi_pool.rows", Builder::Join::max, wide,
                         {rois.dim(0), x.dim(1), x.dim(2), ir::index(pooled[1])}, {x.dim(3)},
                         [&](Point p, Point r) {
                           Bin columns = bin(p[0], 3, p[3]);
                           Expr batch = as_index(rois({p[0], ir::index(0)}));
                           return ir::select(r[0] >= columns.begin && r[0] < columns.end,
                                             ir::cast(wide, x({batch, p[1], p[2], r[0]})), never);
                         });
  b.output(0, b.reduce(
                  "max_roi_pool", Builder::Join::max, dtype,
                  {rois.dim(0), x.dim(1), ir::index(pooled[0]), ir::index(pooled[1])}, {x.dim(2)},
                  [&](Point p, Point r) {
                    Bin over = bin(p[0], 2, p[2]);
                    return ir::select(r[0] >= over.begin && r[0] < over.end,
                                      rows({p[0], p[1], r[0], p[3]}), never);
                  },
                  [&](Point p, Expr most) {
                    Bin over = bin(p[0], 2, p[2]), columns = bin(p[0], 3, p[3]);
                    Expr empty = over.end <= over.begin || columns.end <= columns.begin;
                    return ir::cast(dtype, ir::select(empty, ir::zero(wide), most));
                  }));
  return {};
}

}  // namespace

std::vector<OpDef> roi_family() {
  auto optional = InputDef::optional;
  using N = Numbers;
  std::vector<int64_t> none = {-1};
  std::vector<TensorData> regions = {
      {}, floats({3, 4}, {0, 0, 6, 5, 1.5f, 2, 9, 9, -3, 1, 2, 4}), int64s({3}, {0, 1, 0})};
  std::vector<std::vector<int64_t>> image = {{2, 3, 7, 8}};
  return {
      {.name = "DeformConv",
       .doc = "Convolution whose taps lie where offsets say, between elements.",
       .since = 22,
       .inputs = {{"X", any_float},
                  {"W", any_float},
                  {"offset", any_float},
                  {"B", any_float, optional},
                  {"mask", any_float, optional}},
       .attributes = {{"dilations", N{}},
                      {"group", 1},
                      {"kernel_shape", N{}},
                      {"offset_group", 1},
                      {"pads", N{}},
                      {"strides", N{}}},
       .define = deform_conv,
       .cases = [] -> Cases {
         return {{.name = "padded",
                  .shapes = {{1, 2, 4, 5}, {3, 2, 2, 2}, {1, 8, 5, 6}},
                  .attributes = {{"pads", N{1, 1, 1, 1}}}},
                 {.name = "groups",
                  .shapes = {{2, 4, 5, 5}, {2, 2, 2, 2}, {2, 16, 4, 4}, {2}, {2, 8, 4, 4}},
                  .attributes = {{"group", 2}, {"offset_group", 2}}},
                 {.name = "line", .shapes = {{1, 1, 7}, {2, 1, 3}, {1, 3, 5}, {2}}}};
       }},
      {.name = "RoiAlign",
       .doc = "Pools samples of each region of an image.",
       .since = 22,
       .inputs = {{"X", any_float}, {"rois", any_float}, {"batch_indices", only(DType::i64)}},
       .attributes = {{"coordinate_transformation_mode", "half_pixel"},
                      {"mode", "avg"},
                      {"output_height", 1},
                      {"output_width", 1},
                      {"sampling_ratio", 0},
                      {"spatial_scale", 1.0}},
       .define = roi_align,
       .cases = [=] -> Cases {
         return {{.name = "mean",
                  .shapes = image,
                  .attributes = {{"output_height", 3}, {"output_width", 2}, {"sampling_ratio", 2}},
                  .inputs = regions},
                 {.name = "as many samples as elements",
                  .shapes = image,
                  .attributes = {{"output_height", 2}, {"output_width", 2}},
                  .inputs = regions},
                 {.name = "largest, whole pixels",
                  .shapes = image,
                  .attributes = {{"coordinate_transformation_mode", "output_half_pixel"},
                                 {"mode", "max"},
                                 {"output_height", 2},
                                 {"output_width", 2},
                                 {"sampling_ratio", 3},
                                 {"spatial_scale", 0.8}},
                  .inputs = regions}};
       }},
      {.name = "MaxRoiPool",
       .doc = "The largest element of each bin of each region of X.",
       .since = 22,
       .inputs = {{"X", any_float}, {"rois", any_float}},
       .attributes = {{"pooled_shape", {}, true}, {"spatial_scale", 1.0}},
       .define = max_roi_pool,
       .cases = [] -> Cases {
         return {{.name = "two regions",
                  .shapes = {{1, 2, 5, 6}},
                  .attributes = {{"pooled_shape", Numbers{2, 3}}, {"spatial_scale", 0.5}},
                  .inputs = {{}, floats({2, 5}, {0, 1, 2, 9, 8, 0, 6, 3, 13, 14})}}};
       }},
  };
}

}  // namespace gossamer::ops
