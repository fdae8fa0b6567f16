// Sampling images at computed places, and cropping.
#include <cmath>
#include <limits>

#include "ir/print.h"
#include "ops/families.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

enum class Border { zeros, border, reflection };

struct Sampling {
  const Builder& b;
  const Tensor& x;
  Border border;
  bool align;

  // From [-1, 1] to elements of an axis.
  Expr place(Expr normal, const Expr& extent) const {
    Expr size = ir::cast(DType::f32, extent);
    if (align) return bounded((normal + 1.0) * 0.5 * (size - 1.0), size);
    return bounded(((normal + 1.0) * size - 1.0) * 0.5, size);
  }
  // Weights of infinite places would be NaN. Beyond 4 elements outside, every place is as far. NaN,
  // and what has no mirror image, is before the first element, as in PyTorch.
  Expr bounded(const Expr& at, const Expr& size) const {
    if (border == Border::reflection)
      return ir::select(ir::abs(at) <= std::numeric_limits<float>::max(), at, ir::zero(at->type));
    const Expr before = ir::constant(at->type, -4), after = size + 4.0;
    return ir::select(at > before, ir::select(at < after, at, after), before);
  }
  // Mirrors at the first and last elements (align) or at their outer edges.
  Expr reflected(Expr at, const Expr& extent) const {
    Expr size = ir::cast(DType::f32, extent);
    double low = align ? 0 : -0.5;
    Expr span = align ? size - 1.0 : size;
    Expr off = ir::abs(at - low);
    Expr turns = ir::floor(off / span), rest = off - turns * span;
    Expr even = ir::floormod(turns, ir::constant(DType::f32, 2)) == 0;
    Expr mirrored = ir::select(even, rest, span - rest) + low;
    return ir::select(span == 0, ir::zero(DType::f32), mirrored);
  }
  // The element at a whole coordinate given as f32, as `dtype`.
  Expr element(Point sample, const std::vector<Expr>& at, DType dtype = DType::f32) const {
    std::vector<Expr> point = {sample[0], sample[1]};
    Expr inside;
    for (size_t i = 0; i < at.size(); ++i) {
      const Expr& extent = x.shape()[i + 2];
      Expr coordinate = border == Border::reflection ? reflected(at[i], extent) : at[i];
      Expr index = as_index(coordinate);
      if (border == Border::zeros) {
        Expr here = coordinate >= 0 && coordinate <= ir::cast(DType::f32, extent - 1);
        inside = inside ? inside && here : here;
      } else {
        index = ir::min(ir::max(index, 0.0), extent - 1);
      }
      point.push_back(index);
    }
    Expr value = ir::cast(dtype, x.at(point));
    return inside ? ir::select(inside, value, ir::zero(dtype)) : value;
  }
};

Expr cubic_weight(Expr x) {
  constexpr double a = -0.75;
  x = ir::abs(x);
  Expr near = ((x * (a + 2) - (a + 3)) * x) * x + 1.0;
  Expr far = ((x * a - 5 * a) * x + 8 * a) * x - 4 * a;
  return ir::select(x <= 1.0, near, ir::select(x < 2.0, far, ir::zero(DType::f32)));
}

Result<> grid_sample(Builder& b) {
  const Tensor &x = b.input(0), &grid = b.input(1);
  size_t axes = static_cast<size_t>(x.rank()) - 2;
  const char* misfit = "grid must have X's rank, and one coordinate a spatial axis";
  if (x.rank() < 3 || grid.rank() != x.rank()) return b.error(misfit);
  GS_TRY(b.require(grid.dim(-1) == static_cast<double>(axes), misfit));
  GS_TRY(b.require(grid.dim(0) == x.dim(0), cat("grid has batch ", ir::print(grid.dim(0)),
                                                ", X has ", ir::print(x.dim(0)))));
  std::string padding = b.text("padding_mode"), mode = b.text("mode");
  if (x.dtype() == DType::string && mode != "nearest")
    return b.error("strings are not mixed", "use the mode nearest");
  Border border = padding == "border"       ? Border::border
                  : padding == "reflection" ? Border::reflection
                                            : Border::zeros;
  Sampling sampling{b, x, border, b.integer("align_corners") != 0};
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  // The grid's last axis counts coordinates from the innermost axis outwards.
  auto places = [&](Point p) {
    std::vector<Expr> all;
    for (size_t i = 0; i < axes; ++i) {
      std::vector<Expr> at = {p[0]};
      at.insert(at.end(), p.begin() + 2, p.end());
      at.push_back(ir::index(static_cast<int64_t>(axes - 1 - i)));
      all.push_back(sampling.place(ir::cast(DType::f32, grid.at(at)), x.shape()[i + 2]));
    }
    return all;
  };
  if (mode == "cubic" || mode == "bicubic") {
    Shape taps(axes, ir::index(4));
    b.output(0, b.reduce("grid_sample", Builder::Join::sum, x.dtype(), shape, taps,
                         [&](Point p, Point over) {
                           std::vector<Expr> at = places(p);
                           Expr weight;
                           for (size_t i = 0; i < axes; ++i) {
                             Expr tap = ir::floor(at[i]) + ir::cast(DType::f32, over[i] - 1);
                             Expr part = cubic_weight(at[i] - tap);
                             weight = weight ? weight * part : part;
                             at[i] = tap;
                           }
                           return sampling.element(p, at) * weight;
                         }));
    return {};
  }
  bool nearest = mode == "nearest";
  if (!nearest && mode != "linear" && mode != "bilinear")
    return b.error(cat("`mode` is \"", mode, "\""));
  b.output(0, b.compute("grid_sample", x.dtype(), shape, [&](Point p) {
    std::vector<Expr> at = places(p);
    if (nearest) {
      for (Expr& place : at) place = ir::round(place);
      return sampling.element(p, at, x.dtype());
    }
    Expr sum;
    for (size_t corner = 0; corner < (size_t{1} << axes); ++corner) {
      std::vector<Expr> tap;
      Expr weight;
      for (size_t i = 0; i < axes; ++i) {
        Expr floor = ir::floor(at[i]);
        bool high = (corner >> i) & 1;
        tap.push_back(high ? floor + 1.0 : floor);
        Expr part = high ? at[i] - floor : 1.0 - (at[i] - floor);
        weight = weight ? weight * part : part;
      }
      Expr term = sampling.element(p, tap) * weight;
      sum = sum ? sum + term : term;
    }
    return ir::cast(x.dtype(), sum);
  }));
  return {};
}

Result<> affine_grid(Builder& b) {
  const Tensor& theta = b.input(0);
  GS_ASSIGN(Shape size, b.elements(1));
  size_t axes = size.size() - 2;
  if ((size.size() != 4 && size.size() != 5) || b.input(1).rank() != 1)
    return b.error("size has 4 or 5 extents");
  GS_TRY(has_shape(
      b, 0,
      {size[0], ir::index(static_cast<int64_t>(axes)), ir::index(static_cast<int64_t>(axes + 1))}));
  bool align = b.integer("align_corners") != 0;
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(ir::index(static_cast<int64_t>(axes)));
  DType dtype = theta.dtype();
  b.output(0, b.compute("affine_grid", dtype, shape, [&](Point p) {
    Expr sum = theta({p[0], p.back(), ir::index(static_cast<int64_t>(axes))});
    for (size_t i = 0; i < axes; ++i) {
      // Coordinate 0 belongs to the innermost axis.
      size_t axis = axes - 1 - i;
      Expr at = ir::cast(dtype, p[axis + 1]), extent = ir::cast(dtype, size[axis + 2]);
      Expr place = align ? at * 2.0 / (extent - 1.0) - 1.0 : (at * 2.0 + 1.0) / extent - 1.0;
      sum = sum + theta({p[0], p.back(), ir::index(static_cast<int64_t>(i))}) * place;
    }
    return sum;
  }));
  return {};
}

Result<> center_crop_pad(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> wanted, b.elements(1));
  Numbers axes = b.integers("axes");
  if (axes.empty()) {
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  }
  if (axes.size() != wanted.size()) return b.error("shape and axes differ in length");
  Shape shape = x.shape();
  std::vector<Expr> shift(shape.size(), ir::index(0));  // output place + shift = input place
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -x.rank() || axes[i] >= x.rank())
      return b.error(cat("axis ", axes[i], " is out of range"));
    size_t axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    // Padding and cropping both put the odd element at the end.
    Expr more = x.shape()[axis] - wanted[i];
    shift[axis] = b.simplify(ir::select(more >= 0, ir::floordiv(more, 2),
                                        ir::index(0) - ir::floordiv(ir::index(0) - more, 2)));
    shape[axis] = wanted[i];
  }
  b.output(0, b.compute("center_crop_pad", x.dtype(), shape, [&](Point p) {
    std::vector<Expr> at;
    Expr inside;
    for (size_t i = 0; i < p.size(); ++i) {
      at.push_back(b.simplify(p[i] + shift[i]));
      if (ir::is_const(shift[i], 0) && b.same(shape[i], x.shape()[i])) continue;
      Expr here = at[i] >= 0 && at[i] < x.shape()[i];
      inside = inside ? inside && here : here;
    }
    return inside ? ir::select(inside, x.at(at), ir::zero(x.dtype())) : x.at(at);
  }));
  return {};
}

}  // namespace

std::vector<OpDef> grid_sample_family() {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const TensorData infinite =
      floats({1, 1, 6, 2}, {inf, 0, -inf, 0.25f, 0.5f, -inf, inf, inf, nan, 0, 1e30f, -1e30f});
  return {
      {.name = "GridSample",
       .doc = "Samples X at the places a grid says, in coordinates from -1 to 1.",
       .since = 22,
       .inputs = {{"X", any_number | strings_only}, {"grid", any_float}},
       .attributes = {{"align_corners", 0}, {"mode", "linear"}, {"padding_mode", "zeros"}},
       .define = grid_sample,
       .cases = [=] -> Cases {
         return {
             {.name = "linear", .shapes = {{1, 2, 4, 5}, {1, 3, 3, 2}}, .low = -1.2, .high = 1.2},
             {.name = "nearest of integers",
              .shapes = {{1, 2, 4, 5}, {1, 3, 3, 2}},
              .attributes = {{"mode", "nearest"}},
              .dtype = DType::i32,
              .low = -1.2,
              .high = 1.2},
             {.name = "nearest of strings",
              .shapes = {{1, 1, 3, 4}, {1, 2, 2, 2}},
              .attributes = {{"mode", "nearest"}},
              .dtype = DType::string,
              .low = -1.2,
              .high = 1.2},
             {.name = "nearest border",
              .shapes = {{1, 1, 4, 4}, {1, 2, 3, 2}},
              .attributes = {{"mode", "nearest"}, {"padding_mode", "border"}},
              .low = -1.5,
              .high = 1.5},
             {.name = "cubic reflection",
              .shapes = {{1, 1, 4, 4}, {1, 2, 3, 2}},
              .attributes = {{"mode", "cubic"},
                             {"padding_mode", "reflection"},
                             {"align_corners", 1}},
              .low = -1.5,
              .high = 1.5},
             {.name = "infinite places", .shapes = {{1, 1, 2, 3}}, .inputs = {{}, infinite}},
             {.name = "infinite places of a border",
              .shapes = {{1, 1, 2, 3}},
              .attributes = {{"padding_mode", "border"}},
              .inputs = {{}, infinite}},
             {.name = "infinite places mirrored",
              .shapes = {{1, 1, 2, 3}},
              .attributes = {{"padding_mode", "reflection"}, {"mode", "cubic"}},
              .inputs = {{}, infinite}},
             {.name = "volume",
              .shapes = {{1, 1, 3, 3, 3}, {1, 2, 2, 2, 3}},
              .low = -1,
              .high = 1}};
       }},
      {.name = "AffineGrid",
       .doc = "The grid of places that an affine map of an image reads.",
       .since = 20,
       .inputs = {{"theta", any_float}, {"size", only(DType::i64)}},
       .outputs = {"grid"},
       .attributes = {{"align_corners", 0}},
       .define = affine_grid,
       .cases = [] -> Cases {
         return {
             {.name = "image", .shapes = {{1, 2, 3}}, .inputs = {{}, int64s({4}, {1, 1, 3, 4})}},
             {.name = "volume",
              .shapes = {{1, 3, 4}},
              .attributes = {{"align_corners", 1}},
              .inputs = {{}, int64s({5}, {1, 1, 2, 3, 4})}}};
       }},
      {.name = "CenterCropPad",
       .doc = "Crops or pads axes around their middle to a shape.",
       .since = 18,
       .inputs = {{"input_data", any_element}, {"shape", integer_index}},
       .outputs = {"output_data"},
       .attributes = {{"axes", Numbers{}}},
       .define = center_crop_pad,
       .cases = [] -> Cases {
         return {{.name = "both", .shapes = {{5, 8}}, .inputs = {{}, int64s({2}, {8, 5})}},
                 {.name = "strings",
                  .shapes = {{3, 2}},
                  .inputs = {{}, int64s({2}, {2, 5})},
                  .dtype = DType::string},
                 {.name = "axes",
                  .shapes = {{4, 7, 3}},
                  .attributes = {{"axes", Numbers{1, -1}}},
                  .inputs = {{}, int64s({2}, {4, 6})}}};
       }},
  };
}

}  // namespace gossamer::ops
