// Resize: nearest, linear and cubic, in all coordinate transformations, with and without
// antialiasing.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "ir/estimate.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/image/resize_axis.h"
#include "ops/mul_div.h"

namespace gossamer::ops {
namespace {

using stages::Accumulators;

// Of an axis: for each of its points the floor of the coordinate and its fraction, or the nearest
// element; of sums over taps the weights in place of the fraction.
struct AxisTables {
  std::optional<Tensor> place, share, weights;
};

struct Plan {
  std::vector<ResizedAxis> axes;     // only those that change
  std::vector<AxisTables> tables{};  // of each
  Shape shape;
  std::string mode, coordinates, nearest_mode;
  bool crop = false, antialias = false, exclude_outside = false;
  double cubic = -0.75, outside = 0;
};

bool given(const Builder& b, int i) {
  return b.has(i) && !(b.input(i).rank() == 1 && ir::is_const(b.input(i).dim(0), 0));
}

// Saturates, far beyond what any tensor has.
Expr whole_extent(double extent) {
  return ir::index(static_cast<int64_t>(std::min(std::floor(extent), 0x1p53)));
}

Result<std::vector<double>> host_numbers(const Builder& b, int i) {
  GS_ASSIGN(std::vector<Expr> elements, b.host(i));
  std::vector<double> values;
  for (const Expr& element : elements) {
    auto known = ir::as_float(element);
    if (!known) return b.error("roi and scales must be known when compiling");
    values.push_back(*known);
  }
  return values;
}

// One scale for all axes, from the axis that `policy` says.
Result<> keep_aspect(const Builder& b, Plan& plan, const std::string& policy) {
  if (policy == "stretch") return {};
  double chosen = 0;
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    const Scale& scale = plan.axes[i].scale;
    if (!scale.known)
      return b.error("for `keep_aspect_ratio_policy` all extents must be known when compiling");
    bool better = policy == "not_larger" ? scale.value < chosen : scale.value > chosen;
    if (i == 0 || better) chosen = scale.value;
  }
  for (ResizedAxis& axis : plan.axes) {
    double extent = static_cast<double>(*ir::as_int(axis.in));
    axis.out = whole_extent(extent * chosen + 0.5);
    axis.scale = scale_of_number(chosen);
    plan.shape[static_cast<size_t>(axis.axis)] = axis.out;
  }
  return {};
}

int axis_of(const Tensor& x, int64_t axis) {
  return static_cast<int>(axis < 0 ? axis + x.rank() : axis);
}

bool has_known_scales(const Builder& b) {
  const auto& host = b.input(2).host;
  return host &&
         std::ranges::all_of(*host, [](const Expr& e) { return ir::as_float(e).has_value(); });
}

// Scales as f32, of shapes or of data. Places do not move with them smoothly: as bits they have no
// gradient.
Result<std::vector<Expr>> scales_of_run(Builder& b, const Numbers& axes) {
  const Tensor& scales = b.input(2);
  if (scales.host) return *scales.host;
  const std::string misfit = cat("scales do not fit ", axes.size(), " axes");
  const Expr count = ir::index(static_cast<int64_t>(axes.size()));
  if (scales.rank() != 1) return b.error(misfit);
  GS_TRY(b.require(scales.dim(0) == count, misfit));
  const Tensor bits = b.compute("resize.scales", DType::i32, {count},
                                [&](Point p) { return ir::bitcast(DType::i32, scales.at(p)); });
  std::vector<Expr> factors;
  for (size_t i = 0; i < axes.size(); ++i)
    factors.push_back(ir::bitcast(DType::f32, bits({ir::index(static_cast<int64_t>(i))})));
  return factors;
}

// The extents that they lead to: where data has the scales, a stage computes them and the run reads
// them.
Result<std::vector<Expr>> scaled_extents(Builder& b, const Numbers& axes,
                                         const std::vector<Expr>& factors) {
  const Tensor& x = b.input(0);
  std::vector<Expr> sizes;
  for (size_t i = 0; i < axes.size() && i < factors.size(); ++i) {
    if (axes[i] < -x.rank() || axes[i] >= x.rank())
      return b.error(cat("axis ", axes[i], " is out of range"));
    sizes.push_back(ir::floor(ir::cast(DType::f32, x.dim(axis_of(x, axes[i]))) * factors[i]));
  }
  if (b.input(2).host) {
    for (Expr& size : sizes) size = as_index(size);
    return sizes;
  }
  const Shape count{ir::index(static_cast<int64_t>(sizes.size()))};
  const Tensor extents = b.compute("resize.sizes", DType::i32, count, [&](Point p) {
    Expr size = ir::cast(DType::i32, sizes[0]);
    for (size_t i = 1; i < sizes.size(); ++i)
      size = ir::select(p[0] == static_cast<double>(i), ir::cast(DType::i32, sizes[i]), size);
    return size;
  });
  return b.read(extents);
}

Result<Plan> make_plan(Builder& b) {
  const Tensor& x = b.input(0);
  Plan plan{.axes = {},
            .shape = x.shape(),
            .mode = b.text("mode"),
            .coordinates = b.text("coordinate_transformation_mode"),
            .nearest_mode = b.text("nearest_mode"),
            .crop = b.text("coordinate_transformation_mode") == "tf_crop_and_resize",
            .antialias = b.integer("antialias") != 0,
            .exclude_outside = b.integer("exclude_outside") != 0,
            .cubic = b.number("cubic_coeff_a"),
            .outside = b.number("extrapolation_value")};
  if (plan.mode != "nearest" && plan.mode != "linear" && plan.mode != "cubic") {
    return b.error(cat("`mode` is \"", plan.mode, "\""), "it must be nearest, linear or cubic");
  }
  Numbers axes = b.integers("axes");
  if (axes.empty()) {
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  }
  bool by_scale = given(b, 2);
  if (by_scale == given(b, 3)) return b.error("exactly one of scales and sizes must be given");
  std::vector<double> scales, roi;
  std::vector<Expr> sizes;
  std::vector<Expr> factors;  // scales that a run tells
  // Other forms take their constants from the scales.
  const bool scales_may_be_data = !plan.antialias && !plan.crop && !plan.exclude_outside;
  if (by_scale && (has_known_scales(b) || !scales_may_be_data)) {
    GS_ASSIGN(scales, host_numbers(b, 2));
  } else if (by_scale) {
    GS_ASSIGN(factors, scales_of_run(b, axes));
    GS_ASSIGN(sizes, scaled_extents(b, axes, factors));
    scales.assign(factors.size(), 0);
  } else {
    // Data may give sizes where nothing that must be known depends on them.
    const bool plain =
        !plan.antialias && !plan.crop && b.text("keep_aspect_ratio_policy") == "stretch";
    GS_ASSIGN(sizes, plain ? b.elements(3) : b.host(3));
  }
  if (plan.crop) {
    if (!given(b, 1)) return b.error("tf_crop_and_resize needs roi");
    GS_ASSIGN(roi, host_numbers(b, 1));
  }
  size_t count = axes.size();
  if ((by_scale ? scales.size() : sizes.size()) != count ||
      (plan.crop && roi.size() != 2 * count)) {
    return b.error(cat("scales, sizes or roi do not fit ", count, " axes"));
  }
  for (size_t i = 0; i < count; ++i) {
    if (axes[i] < -x.rank() || axes[i] >= x.rank())
      return b.error(cat("axis ", axes[i], " is out of range"));
    ResizedAxis axis;
    axis.axis = axis_of(x, axes[i]);
    axis.in = x.dim(axis.axis);
    if (plan.crop) axis.roi_start = roi[i], axis.roi_end = roi[i + count];
    if (!factors.empty()) {
      axis.out = b.simplify(sizes[i]);
      axis.scale = {{}, {}, 0, false, factors[i]};
    } else if (by_scale) {
      if (!(scales[i] > 0)) return b.error(cat("scale ", scales[i], " is not positive"));
      axis.scale = scale_of_number(scales[i]);
      if (auto extent = ir::as_int(axis.in)) {
        // In f32, as the scale is: 0.6 * 10 is 6, though 0.6f is a little more.
        float exact = static_cast<float>(scales[i]) * static_cast<float>(*extent);
        axis.out = whole_extent(exact);
      } else if (axis.scale.above) {
        axis.out = b.simplify(ir::floordiv(axis.in * axis.scale.above, axis.scale.below));
      } else {
        return b.error(cat("scale ", scales[i], " of an extent that only a run knows"));
      }
    } else {
      axis.out = b.simplify(sizes[i]);
      axis.scale = scale_of_sizes(axis.in, axis.out);
    }
    plan.shape[static_cast<size_t>(axis.axis)] = axis.out;
    bool whole = !plan.crop || (axis.roi_start == 0 && axis.roi_end == 1);
    bool unchanged = b.same(axis.in, axis.out) && whole && (!by_scale || scales[i] == 1);
    if (!unchanged) plan.axes.push_back(axis);
  }
  if (!by_scale) GS_TRY(keep_aspect(b, plan, b.text("keep_aspect_ratio_policy")));
  for (const ResizedAxis& axis : plan.axes) {
    GS_TRY(b.require(axis.out <= static_cast<double>(longest_resized),
                     cat("would make axis ", axis.axis, " longer than ", longest_resized)));
    GS_TRY(b.require(
        axis.in <= ir::floordiv(ir::index(wide_product_limit / 2), ir::max(axis.out, 1.0)),
        cat("would take axis ", axis.axis, " between extents too large")));
  }
  return plan;
}

Expr clamped(const Builder& b, Expr at, const Expr& extent) {
  return b.simplify(ir::min(ir::max(at, 0.0), extent - 1));
}

Result<Coordinate> coordinate_at(const Builder& b, const Plan& plan, size_t i, const Expr& at) {
  GS_ASSIGN(Coordinate c, source_coordinate(b, plan.coordinates, plan.axes[i], at));
  if (i < plan.tables.size()) {
    const AxisTables& tables = plan.tables[i];
    if (tables.place) c.place = as_index((*tables.place)({at}));
    if (tables.share) c.share = (*tables.share)({at});
  }
  return c;
}

Result<std::vector<Coordinate>> coordinates_at(const Builder& b, const Plan& plan, Point point) {
  std::vector<Coordinate> all;
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    const Expr& at = point[static_cast<size_t>(plan.axes[i].axis)];
    GS_ASSIGN(Coordinate c, coordinate_at(b, plan, i, at));
    all.push_back(std::move(c));
  }
  return all;
}

// Coordinates along an axis whose extents a run tells take long divisions: once a point of the
// axis, not of the tensor.
Result<> tabulate(Builder& b, Plan& plan) {
  if (plan.crop) return {};
  std::vector<AxisTables> all;
  for (const ResizedAxis& axis : plan.axes) {
    AxisTables& tables = all.emplace_back();
    const auto coordinate = [&](const Expr& at) {
      return source_coordinate(b, plan.coordinates, axis, at);
    };
    GS_ASSIGN(const Coordinate any, coordinate(ir::var("at")));
    if (!any.whole.get()) continue;
    const bool nearest_only = plan.mode == "nearest";
    tables.place = b.compute("resize.place", DType::i32, {axis.out}, [&](Point p) {
      const Coordinate c = *coordinate(p[0]);
      return ir::cast(DType::i32, nearest_only ? *nearest(b, plan.nearest_mode, c) : c.floor());
    });
    if (nearest_only) continue;
    tables.share = b.compute("resize.share", DType::f32, {axis.out},
                             [&](Point p) { return coordinate(p[0])->fraction(); });
  }
  plan.tables = std::move(all);
  return {};
}

// `value`, or the extrapolation value where a coordinate of a crop lies outside. One that only
// rounding puts there is on the edge.
Expr within(const Plan& plan, const std::vector<Coordinate>& coordinates, Expr value) {
  if (!plan.crop) return value;
  Expr inside;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    Expr at = coordinates[i].as_real();
    const Expr last = ir::cast(DType::f32, plan.axes[i].in - 1), slack = last * 1e-6;
    Expr here = at >= -slack && at <= last + slack;
    inside = inside ? inside && here : here;
  }
  return inside ? ir::select(inside, value, ir::constant(value->type, plan.outside)) : value;
}

// The weight of the source element `offset` away from floor(coordinate).
Expr weight(const Plan& plan, Expr distance, double shrink) {
  Expr x = ir::abs(distance * shrink);
  if (plan.mode == "linear") return ir::max(1.0 - x, 0.0);
  double a = plan.cubic;
  Expr near = ((x * (a + 2) - (a + 3)) * x) * x + 1.0;
  Expr far = ((x * a - 5 * a) * x + 8 * a) * x - 4 * a;
  return ir::select(x <= 1.0, near, ir::select(x < 2.0, far, ir::zero(DType::f32)));
}

// Between the two elements of an axis that are next to a coordinate; `value` gives them.
Expr between(const Builder& b, const ResizedAxis& axis, const Coordinate& coordinate, DType wide,
             const std::function<Expr(Expr place)>& value) {
  const Expr floor = b.simplify(coordinate.floor());
  const Expr low = value(clamped(b, floor, axis.in)), high = value(clamped(b, floor + 1, axis.in));
  return low + (high - low) * ir::cast(wide, coordinate.fraction());
}

// Linear without antialiasing: two taps an axis, written out.
Expr linear(const Builder& b, const Plan& plan, const std::vector<Coordinate>& coordinates,
            std::vector<Expr> at, size_t next, DType wide) {
  if (next == plan.axes.size()) return ir::cast(wide, b.input(0).at(at));
  const ResizedAxis& axis = plan.axes[next];
  return between(b, axis, coordinates[next], wide, [&](Expr place) {
    at[static_cast<size_t>(axis.axis)] = std::move(place);
    return linear(b, plan, coordinates, at, next + 1, wide);
  });
}

// Whether linear resizing makes at most half of the result's elements before its last axis.
bool pays_axis_by_axis(const Plan& plan) {
  return plan.axes.size() > 1 && !plan.crop &&
         std::all_of(plan.axes.begin(), plan.axes.end() - 1, [](const ResizedAxis& axis) {
           return ir::estimate(axis.out) >= 2 * ir::estimate(axis.in);
         });
}

// The same sums as in `linear`, a stage an axis, from the last one on: only the first stage reads
// elements next to each other from places that data gives.
Tensor linear_axis_by_axis(Builder& b, const Plan& plan, DType wide) {
  Tensor x = b.input(0);
  for (size_t i = plan.axes.size(); i-- > 0;) {
    const ResizedAxis& axis = plan.axes[i];
    const auto k = static_cast<size_t>(axis.axis);
    Shape shape = x.shape();
    shape[k] = axis.out;
    const DType dtype = i == 0 ? b.input(0).dtype() : wide;
    const std::string name = i == 0 ? "resize" : cat("resize.axis", axis.axis);
    x = b.compute(name, dtype, std::move(shape), [&](Point point) {
      const Coordinate c = *coordinate_at(b, plan, i, point[k]);
      std::vector<Expr> at(point.begin(), point.end());
      const Expr value = between(b, axis, c, wide, [&](Expr place) {
        at[k] = std::move(place);
        return ir::cast(wide, x.at(at));
      });
      return ir::cast(dtype, value);
    });
  }
  return x;
}

// Cubic, and anything antialiased or weighted anew: a sum over taps.
Result<Tensor> weighted(Builder& b, Plan& plan) {
  const Tensor& x = b.input(0);
  DType wide = DType::f32;
  Numbers first;
  std::vector<double> shrinks;
  Shape extents;
  double support = plan.mode == "linear" ? 1 : 2;
  for (const ResizedAxis& axis : plan.axes) {
    if (plan.antialias && !axis.scale.known)
      return b.error("for antialiasing all extents must be known when compiling");
    double shrink = plan.antialias ? std::min(axis.scale.value, 1.0) : 1.0;
    int64_t start = static_cast<int64_t>(std::floor(-support / shrink)) + 1;
    first.push_back(start);
    shrinks.push_back(shrink);
    extents.push_back(ir::index(2 - 2 * start));
  }
  GS_TRY(tabulate(b, plan));
  for (size_t i = 0; i < plan.tables.size(); ++i) {
    AxisTables& tables = plan.tables[i];
    if (!tables.share) continue;
    tables.weights =
        b.compute("resize.weights", wide, {plan.axes[i].out, extents[i]}, [&](Point p) {
          const Expr offset = p[1] + static_cast<double>(first[i]);
          return weight(plan, ir::cast(wide, offset) - (*tables.share)({p[0]}), shrinks[i]);
        });
  }
  Result<> status;
  auto terms = [&](Point point, Point over) -> std::vector<Expr> {
    auto coordinates = coordinates_at(b, plan, point);
    if (!coordinates) {
      status = std::unexpected(coordinates.error());
      return {ir::zero(wide), ir::zero(wide)};
    }
    std::vector<Expr> at(point.begin(), point.end());
    Expr share;
    for (size_t i = 0; i < plan.axes.size(); ++i) {
      const ResizedAxis& axis = plan.axes[i];
      Expr offset = over[i] + static_cast<double>(first[i]);
      Expr place = (*coordinates)[i].floor() + offset;
      Expr part;
      if (i < plan.tables.size() && plan.tables[i].weights) {
        part = (*plan.tables[i].weights)({point[static_cast<size_t>(axis.axis)], over[i]});
      } else {
        Expr distance = ir::cast(wide, offset) - (*coordinates)[i].fraction();
        part = weight(plan, distance, shrinks[i]);
      }
      if (plan.exclude_outside)
        part = ir::select(place >= 0 && place < axis.in, part, ir::zero(wide));
      share = share ? share * part : part;
      at[static_cast<size_t>(axis.axis)] = clamped(b, place, axis.in);
    }
    return {ir::cast(wide, x.at(at)) * share, share};
  };
  auto finish = [&](Point point, Expr value) {
    if (plan.crop) value = within(plan, *coordinates_at(b, plan, point), value);
    return ir::cast(x.dtype(), value);
  };
  Tensor y;
  if (!plan.exclude_outside && !plan.antialias) {
    y = b.reduce(
        "resize", Builder::Join::sum, x.dtype(), plan.shape, extents,
        [&](Point p, Point over) { return terms(p, over)[0]; }, finish);
  } else {
    // The weights in use need not add up to 1.
    Var sum = ir::var("sum", wide), weights = ir::var("weights", wide);
    Var more = ir::var("more", wide), more_weights = ir::var("more_weights", wide);
    Accumulators accumulators{
        {sum, more, Expr(sum) + Expr(more), ir::zero(wide)},
        {weights, more_weights, Expr(weights) + Expr(more_weights), ir::zero(wide)}};
    y = b.reduce("resize", std::move(accumulators), x.dtype(), plan.shape, extents, terms,
                 [&](Point p, std::span<const Var> totals) {
                   return finish(p, Expr(totals[0]) / Expr(totals[1]));
                 });
  }
  GS_TRY(status);
  return y;
}

Result<> resize(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(Plan plan, make_plan(b));
  if (plan.axes.empty()) {
    b.output(0, x);
    return {};
  }
  if (x.dtype() == DType::string &&
      (plan.mode != "nearest" || plan.coordinates == "tf_crop_and_resize"))
    return b.error("strings are not mixed", "use the mode nearest, without cropping");
  // Errors in modes show at any point.
  std::vector<Expr> origin(static_cast<size_t>(x.rank()), ir::index(0));
  GS_TRY(coordinates_at(b, plan, origin));
  if (plan.mode != "nearest" && (plan.mode == "cubic" || plan.antialias || plan.exclude_outside)) {
    GS_ASSIGN(Tensor y, weighted(b, plan));
    b.output(0, y);
    return {};
  }
  if (plan.mode == "nearest") {
    GS_TRY(nearest(b, plan.nearest_mode, {.real = ir::zero(DType::f32)}));
  }
  GS_TRY(tabulate(b, plan));
  DType wide = ir::is_float(x.dtype()) ? accumulator(x.dtype()) : DType::f32;
  if (plan.mode == "linear" && pays_axis_by_axis(plan)) {
    b.output(0, linear_axis_by_axis(b, plan, wide));
    return {};
  }
  b.output(0, b.compute("resize", x.dtype(), plan.shape, [&](Point point) {
    std::vector<Coordinate> coordinates = *coordinates_at(b, plan, point);
    std::vector<Expr> at(point.begin(), point.end());
    if (plan.mode == "linear") {
      Expr value = linear(b, plan, coordinates, at, 0, wide);
      return ir::cast(x.dtype(), within(plan, coordinates, value));
    }
    for (size_t i = 0; i < plan.axes.size(); ++i) {
      const ResizedAxis& axis = plan.axes[i];
      const Expr& known = coordinates[i].place;
      Expr place = known.get() ? known : *nearest(b, plan.nearest_mode, coordinates[i]);
      at[static_cast<size_t>(axis.axis)] = clamped(b, place, axis.in);
    }
    return within(plan, coordinates, x.at(at));
  }));
  return {};
}

std::vector<TensorData> by(std::vector<float> scales) {
  int64_t count = static_cast<int64_t>(scales.size());
  return {TensorData{}, TensorData{}, floats({count}, std::move(scales))};
}
std::vector<TensorData> to(std::vector<int64_t> sizes) {
  int64_t count = static_cast<int64_t>(sizes.size());
  return {TensorData{}, TensorData{}, TensorData{}, int64s({count}, std::move(sizes))};
}

}  // namespace

std::vector<OpDef> resize_family() {
  Attributes linear = {{"mode", "linear"}}, cubic = {{"mode", "cubic"}};
  auto with = [](Attributes base, Attributes more) {
    more.insert(base.begin(), base.end());
    return more;
  };
  std::vector<int64_t> none = {-1};
  return {
      {.name = "Resize",
       .doc = "Resamples axes by scales or to sizes.",
       .since = 19,
       .inputs = {{"X", any_element},
                  {"roi", any_float, InputDef::optional},
                  {"scales", only(DType::f32), InputDef::optional},
                  {"sizes", integer_index, InputDef::optional}},
       .attributes = {{"antialias", 0},
                      {"axes", Numbers{}},
                      {"coordinate_transformation_mode", "half_pixel"},
                      {"cubic_coeff_a", -0.75},
                      {"exclude_outside", 0},
                      {"extrapolation_value", 0.0},
                      {"keep_aspect_ratio_policy", "stretch"},
                      {"mode", "nearest"},
                      {"nearest_mode", "round_prefer_floor"}},
       .define = resize,
       .cases = [=] -> Cases {
         return {
             {.name = "nearest twice",
              .shapes = {{1, 2, 3, 4}, none},
              .attributes = {{"coordinate_transformation_mode", "asymmetric"},
                             {"nearest_mode", "floor"}},
              .inputs = by({1, 1, 2, 2})},
             {.name = "nearest of strings",
              .shapes = {{1, 1, 2, 3}},
              .inputs = by({1, 1, 2, 1.5f}),
              .dtype = DType::string},
             {.name = "nearest sizes",
              .shapes = {{1, 1, 4, 4}, none, none},
              .inputs = to({1, 1, 7, 8})},
             {.name = "nearest as TensorFlow's",
              .shapes = {{1, 1, 4, 4}, none, none},
              .attributes = {{"coordinate_transformation_mode", "tf_half_pixel_for_nn"},
                             {"nearest_mode", "floor"}},
              .inputs = to({1, 1, 7, 3})},
             {.name = "nearest down",
              .shapes = {{1, 1, 2, 4}, none},
              .inputs = by({1, 1, 0.6f, 0.6f})},
             {.name = "linear",
              .shapes = {{1, 2, 4, 5}, none, none},
              .attributes = linear,
              .inputs = to({1, 2, 7, 8})},
             {.name = "linear, axis by axis",
              .shapes = {{2, 2, 3, 5}, none, none},
              .attributes = linear,
              .inputs = to({2, 2, 7, 33})},
             {.name = "linear, three axes",
              .shapes = {{1, 2, 3, 5, 4}, none},
              .attributes = with(linear, {{"coordinate_transformation_mode", "asymmetric"}}),
              .inputs = by({1, 1, 2, 2.5f, 0.5f})},
             {.name = "linear corners",
              .shapes = {{1, 1, 3, 3}, none, none},
              .attributes = with(linear, {{"coordinate_transformation_mode", "align_corners"}}),
              .inputs = to({1, 1, 5, 6})},
             {.name = "linear pytorch",
              .shapes = {{1, 1, 4, 4}, none, none},
              .attributes =
                  with(linear, {{"coordinate_transformation_mode", "pytorch_half_pixel"}}),
              .inputs = to({1, 1, 3, 1})},
             {.name = "cubic",
              .shapes = {{1, 1, 4, 4}, none},
              .attributes = cubic,
              .inputs = by({1, 1, 2, 2})},
             {.name = "cubic, nothing outside",
              .shapes = {{1, 1, 4, 4}, none},
              .attributes = with(cubic, {{"exclude_outside", 1}}),
              .inputs = by({1, 1, 0.8f, 0.8f})},
             {.name = "linear antialias",
              .shapes = {{1, 1, 6, 6}, none},
              .attributes = with(linear, {{"antialias", 1}}),
              .inputs = by({1, 1, 0.5f, 0.4f})},
             {.name = "axes",
              .shapes = {{1, 2, 4, 4}, none, none},
              .attributes = {{"axes", Numbers{2, 3}}},
              .inputs = to({6, 3})},
             {.name = "crop to the edge",
              .attributes =
                  with(linear, {{"coordinate_transformation_mode", "tf_crop_and_resize"}}),
              .inputs = {floats({1, 1, 2, 8}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}),
                         floats({8}, {0, 0, 0, 0, 1, 1, 1, 1}),
                         {},
                         int64s({4}, {1, 1, 5, 4})}},
             {.name = "crop",
              .attributes = with(linear, {{"coordinate_transformation_mode", "tf_crop_and_resize"},
                                          {"extrapolation_value", 10.0}}),
              .inputs = {floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                         floats({8}, {0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f}),
                         {},
                         int64s({4}, {1, 1, 3, 3})}}};
       }},
  };
}

}  // namespace gossamer::ops
