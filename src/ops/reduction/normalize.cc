// Normalisations.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/nn/window.h"
#include "ops/reduction/reduce.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

std::vector<int> axes_between(int first, int past) {
  std::vector<int> axes;
  for (int axis = first; axis < past; ++axis) axes.push_back(axis);
  return axes;
}

struct Moments {
  Tensor mean, variance;  // with the reduced axes kept
};

// Mean and variance over axes in the accumulator's type, in two passes over x.
Moments moments(Builder& b, const std::string& name, const Tensor& x,
                const std::vector<int>& axes) {
  DType wide = accumulator(x.dtype());
  Expr count = ir::cast(wide, count_of(b, x, axes));
  Tensor mean = reduce_axes(
      b, name + ".mean", x, axes, true, Builder::Join::sum, wide,
      [&](Point at) { return ir::cast(wide, x.at(at)); }, [&](Expr sum) { return sum / count; });
  Tensor variance = reduce_axes(
      b, name + ".variance", x, axes, true, Builder::Join::sum, wide,
      [&](Point at) {
        Expr off = ir::cast(wide, x.at(at)) - b.at_broadcast(mean, at);
        return off * off;
      },
      [&](Expr sum) { return sum / count; });
  return {mean, variance};
}

// What scale, B, mean and variance have: one number a channel, or one an element of a sample (what
// `spatial` = 0 asked for up to version 8). A single axis is one channel.
Shape statistics_shape(const Tensor& x, const Tensor& scale) {
  if (x.rank() == 1) return {ir::index(1)};
  if (scale.rank() == 1) return {x.dim(1)};
  return {x.shape().begin() + 1, x.shape().end()};
}

// Scale and shift: y = x * scale + shift.
Result<> batch_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() < 1) return b.error("input is a scalar", "it is [n, c, ...]");
  Shape statistics = statistics_shape(x, b.input(1));
  for (int i = 1; i < 5; ++i) GS_TRY(has_shape(b, i, statistics));
  DType wide = b.input(3).dtype();
  if (accumulator(wide) != wide) wide = DType::f32;
  double epsilon = b.number("epsilon"), momentum = b.number("momentum");
  Tensor mean = b.input(3), variance = b.input(4);
  if (b.integer("training_mode") != 0) {
    if (x.rank() < 2 || statistics.size() != 1)
      return b.error("training needs [n, c, ...] and statistics of channels");
    std::vector<int> axes = axes_between(2, x.rank());
    axes.insert(axes.begin(), 0);
    Moments now = moments(b, "batch_normalization", x, axes);
    auto running = [&](const std::string& name, const Tensor& before, const Tensor& current) {
      return b.compute(name, before.dtype(), before.shape(), [&](Point p) {
        std::vector<Expr> at(static_cast<size_t>(current.rank()), ir::index(0));
        at[1] = p[0];
        Expr old = ir::cast(current.dtype(), before.at(p));
        return ir::cast(before.dtype(), old * momentum + current.at(at) * (1 - momentum));
      });
    };
    if (b.wants(1)) b.output(1, running("batch_normalization.running_mean", mean, now.mean));
    if (b.wants(2)) b.output(2, running("batch_normalization.running_var", variance, now.variance));
    mean = b.reshape("batch_normalization.mean_row", now.mean, {x.dim(1)});
    variance = b.reshape("batch_normalization.variance_row", now.variance, {x.dim(1)});
  }
  const Tensor &gain = b.input(1), &bias = b.input(2);
  auto element = [wide](const Tensor& t, Point p) { return ir::cast(wide, t.at(p)); };
  Tensor scale = b.compute("batch_normalization.scale", wide, statistics, [&](Point p) {
    return element(gain, p) / ir::sqrt(element(variance, p) + epsilon);
  });
  Tensor shift = b.compute("batch_normalization.shift", wide, statistics, [&](Point p) {
    return element(bias, p) - element(mean, p) * scale.at(p);
  });
  b.output(0, b.compute("batch_normalization", x.dtype(), x.shape(), [&](Point p) {
    std::vector<Expr> at(statistics.size(), ir::index(0));
    if (p.size() > 1) std::copy_n(p.begin() + 1, at.size(), at.begin());
    Expr value = ir::cast(wide, x.at(p)) * scale.at(at) + shift.at(at);
    return ir::cast(x.dtype(), value);
  }));
  return {};
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias, with scale and bias read by `parameter`.
Tensor normalized(Builder& b, const std::string& name, const Tensor& x, const Moments& stats,
                  double epsilon, const std::function<Expr(Point, Expr)>& affine) {
  DType wide = stats.mean.dtype();
  Tensor inverse = b.compute(name + ".inverse", wide, stats.variance.shape(), [&](Point p) {
    return 1.0 / ir::sqrt(stats.variance.at(p) + epsilon);
  });
  return b.compute(name, x.dtype(), x.shape(), [&](Point p) {
    Expr off = ir::cast(wide, x.at(p)) - b.at_broadcast(stats.mean, p);
    return ir::cast(x.dtype(), affine(p, off * b.at_broadcast(inverse, p)));
  });
}

Result<> instance_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() < 3) return b.error(cat("input has rank ", x.rank()), "it is [n, c, spatial...]");
  for (int i : {1, 2}) GS_TRY(has_shape(b, i, {x.dim(1)}));
  Moments stats = moments(b, "instance_normalization", x, axes_between(2, x.rank()));
  DType wide = stats.mean.dtype();
  b.output(0, normalized(b, "instance_normalization", x, stats, b.number("epsilon"),
                         [&](Point p, Expr value) {
                           return value * ir::cast(wide, b.input(1)({p[1]})) +
                                  ir::cast(wide, b.input(2)({p[1]}));
                         }));
  return {};
}

Result<> layer_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  Moments stats = moments(b, "layer_normalization", x, axes_between(axis, x.rank()));
  DType wide = stats.mean.dtype();
  double epsilon = b.number("epsilon");
  for (int i : {1, 2}) GS_TRY(broadcasts_to(b, i, x.shape()));
  b.output(0, normalized(b, "layer_normalization", x, stats, epsilon, [&](Point p, Expr value) {
             value = value * ir::cast(wide, b.at_broadcast(b.input(1), p));
             return b.has(2) ? value + ir::cast(wide, b.at_broadcast(b.input(2), p)) : value;
           }));
  const auto stash = dtype_of_onnx(b.integer("stash_type"));
  if (!stash || !ir::is_float(*stash))
    return b.error(cat("`stash_type` is ", b.integer("stash_type")), "it must be a float type");
  if (b.wants(1)) {
    b.output(1, stats.mean.dtype() == *stash
                    ? stats.mean
                    : b.compute("layer_normalization.mean", *stash, stats.mean.shape(),
                                [&](Point p) { return ir::cast(*stash, stats.mean.at(p)); }));
  }
  if (b.wants(2)) {
    b.output(2, b.compute("layer_normalization.inv_std_dev", *stash, stats.variance.shape(),
                          [&](Point p) {
                            return ir::cast(*stash, 1.0 / ir::sqrt(stats.variance.at(p) + epsilon));
                          }));
  }
  return {};
}

Result<> rms_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  GS_TRY(broadcasts_to(b, 1, x.shape()));
  std::vector<int> axes = axes_between(axis, x.rank());
  DType wide = accumulator(x.dtype());
  Expr count = ir::cast(wide, count_of(b, x, axes));
  double epsilon = b.number("epsilon");
  Tensor inverse = reduce_axes(
      b, "rms_normalization.inverse", x, axes, true, Builder::Join::sum, wide,
      [&](Point at) {
        Expr value = ir::cast(wide, x.at(at));
        return value * value;
      },
      [&](Expr sum) { return 1.0 / ir::sqrt(sum / count + epsilon); });
  DType scale_type = b.input(1).dtype();
  b.output(0, b.compute("rms_normalization", scale_type, x.shape(), [&](Point p) {
    Expr value = ir::cast(wide, x.at(p)) * b.at_broadcast(inverse, p);
    return ir::cast(scale_type, value * ir::cast(wide, b.at_broadcast(b.input(1), p)));
  }));
  return {};
}

Result<> group_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  int64_t groups = b.integer("num_groups");
  if (x.rank() < 3 || groups < 1)
    return b.error("the input is [n, c, spatial...], `num_groups` positive");
  for (int i : {1, 2}) GS_TRY(has_shape(b, i, {x.dim(1)}));
  GS_TRY(b.require(ir::floormod(x.dim(1), groups) == 0,
                   cat("channels do not divide into ", groups, " groups")));
  Expr per_group = b.simplify(ir::floordiv(x.dim(1), groups));
  Shape grouped = {x.dim(0), ir::index(groups), per_group};
  grouped.insert(grouped.end(), x.shape().begin() + 2, x.shape().end());
  Tensor view = b.reshape("group_normalization.groups", x, grouped);
  Moments stats = moments(b, "group_normalization", view, axes_between(2, view.rank()));
  DType wide = stats.mean.dtype();
  double epsilon = b.number("epsilon");
  Tensor inverse =
      b.compute("group_normalization.inverse", wide, stats.variance.shape(),
                [&](Point p) { return 1.0 / ir::sqrt(stats.variance.at(p) + epsilon); });
  b.output(0, b.compute("group_normalization", x.dtype(), x.shape(), [&](Point p) {
    std::vector<Expr> at(static_cast<size_t>(view.rank()), ir::index(0));
    at[0] = p[0];
    at[1] = b.simplify(ir::floordiv(p[1], per_group));
    Expr value = (ir::cast(wide, x.at(p)) - stats.mean.at(at)) * inverse.at(at);
    value = value * ir::cast(wide, b.input(1)({p[1]})) + ir::cast(wide, b.input(2)({p[1]}));
    return ir::cast(x.dtype(), value);
  }));
  return {};
}

Result<> lp_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  int64_t p = b.integer("p");
  if (p != 1 && p != 2) return b.error(cat("`p` is ", p), "it must be 1 or 2");
  DType wide = accumulator(x.dtype());
  Tensor norm = reduce_axes(
      b, "lp_normalization.norm", x, {axis}, true, Builder::Join::sum, wide,
      [&](Point at) {
        Expr value = ir::cast(wide, x.at(at));
        return p == 1 ? ir::abs(value) : value * value;
      },
      [&](Expr sum) { return p == 1 ? sum : norm_of(sum); });
  b.output(0, b.compute("lp_normalization", x.dtype(), x.shape(), [&](Point at) {
    Expr length = b.at_broadcast(norm, at);
    // A row of zeros stays one.
    Expr value = ir::select(length == 0, ir::zero(wide), ir::cast(wide, x.at(at)) / length);
    return ir::cast(x.dtype(), value);
  }));
  return {};
}

Result<> mean_variance_normalization(Builder& b) {
  const Tensor& x = b.input(0);
  std::vector<int> axes;
  for (int64_t axis : b.integers("axes")) {
    if (axis < -x.rank() || axis >= x.rank())
      return b.error(cat("axis ", axis, " is out of range for rank ", x.rank()));
    axes.push_back(static_cast<int>(axis < 0 ? axis + x.rank() : axis));
  }
  std::ranges::sort(axes);
  Moments stats = moments(b, "mean_variance_normalization", x, axes);
  // The definition adds 1e-9 to the deviation, not to the variance.
  b.output(0, b.compute("mean_variance_normalization", x.dtype(), x.shape(), [&](Point p) {
    Expr off = ir::cast(stats.mean.dtype(), x.at(p)) - b.at_broadcast(stats.mean, p);
    return ir::cast(x.dtype(), off / (norm_of(b.at_broadcast(stats.variance, p)) + 1e-9));
  }));
  return {};
}

// Each element over a power of the sum of squares of its neighbours along the channels.
Result<> lrn(Builder& b) {
  const Tensor& x = b.input(0);
  int64_t size = b.integer("size");
  if (x.rank() < 2 || size < 1) return b.error("the input is [n, c, ...], `size` positive");
  Shape begin(x.shape().size(), ir::index(0)), end = begin;
  begin[1] = ir::index((size - 1) / 2);
  end[1] = ir::index(size - 1 - (size - 1) / 2);
  Tensor padded = pad_constant(b, "lrn.pad", x, begin, end, ir::zero(x.dtype()));
  DType wide = accumulator(x.dtype());
  Tensor sum = b.reduce("lrn.sum", Builder::Join::sum, wide, x.shape(), {ir::index(size)},
                        [&](Point p, Point over) {
                          std::vector<Expr> at(p.begin(), p.end());
                          at[1] = at[1] + over[0];
                          Expr value = ir::cast(wide, padded.at(at));
                          return value * value;
                        });
  double alpha = b.number("alpha"), beta = b.number("beta"), bias = b.number("bias");
  b.output(0, b.compute("lrn", x.dtype(), x.shape(), [&](Point p) {
    Expr base = sum.at(p) * (alpha / static_cast<double>(size)) + bias;
    return ir::cast(x.dtype(), ir::cast(wide, x.at(p)) / ir::pow(base, ir::constant(wide, beta)));
  }));
  return {};
}

}  // namespace

std::vector<OpDef> normalize_family() {
  std::vector<TensorData> ones_variance = {{}, {}, {}, {}, floats({3}, {0.5f, 1, 2})};
  return {
      {.name = "BatchNormalization",
       .doc =
           "Scales and shifts each channel by its mean and variance, given or (training) measured.",
       .since = 15,
       .inputs = {{"X", any_float},
                  {"scale", any_float},
                  {"B", any_float},
                  {"input_mean", any_float},
                  {"input_var", any_float}},
       .outputs = {"Y", "running_mean", "running_var"},
       .attributes = {{"epsilon", 1e-5}, {"momentum", 0.9}, {"training_mode", 0}},
       .define = batch_normalization,
       .cases = [=] -> Cases {
         return {{.name = "image",
                  .shapes = {{2, 3, 4, 5}, {3}, {3}, {3}, {3}},
                  .inputs = ones_variance,
                  .outputs = 1},
                 {.name = "rows",
                  .shapes = {{5, 3}, {3}, {3}, {3}, {3}},
                  .attributes = {{"epsilon", 0.01}},
                  .inputs = ones_variance,
                  .outputs = 1},
                 {.name = "elements",
                  .shapes = {{4, 2, 3}, {2, 3}, {2, 3}, {2, 3}, {2, 3}},
                  .inputs = {{}, {}, {}, {}, floats({2, 3}, {0.5f, 1, 2, 3, 0.25f, 1.5f})},
                  .outputs = 1},
                 {.name = "line",
                  .shapes = {{9}, {1}, {1}, {1}, {1}},
                  .inputs = {{}, {}, {}, {}, floats({1}, {0.5f})},
                  .outputs = 1},
                 {.name = "training",
                  .shapes = {{2, 3, 4}, {3}, {3}, {3}, {3}},
                  .attributes = {{"training_mode", 1}},
                  .inputs = ones_variance}};
       }},
      {.name = "InstanceNormalization",
       .doc = "Normalises each channel of each sample by its own mean and variance.",
       .since = 22,
       .inputs = {{"input", any_float}, {"scale", any_float}, {"B", any_float}},
       .outputs = {"output"},
       .attributes = {{"epsilon", 1e-5}},
       .define = instance_normalization,
       .cases = [] -> Cases {
         return {
             {.name = "image", .shapes = {{2, 3, 4, 5}, {3}, {3}}},
             {.name = "line", .shapes = {{1, 2, 9}, {2}, {2}}, .attributes = {{"epsilon", 0.01}}}};
       }},
      {.name = "LayerNormalization",
       .doc = "Normalises over the axes from `axis` on.",
       .since = 17,
       .inputs = {{"X", any_float}, {"Scale", any_float}, {"B", any_float, InputDef::optional}},
       .outputs = {"Y", "Mean", "InvStdDev"},
       .attributes = {{"axis", -1}, {"epsilon", 1e-5}, {"stash_type", 1}},
       .define = layer_normalization,
       .cases = [] -> Cases {
         return {{.name = "last", .shapes = {{2, 3, 7}, {7}, {7}}},
                 {.name = "two axes", .shapes = {{2, 3, 5}, {3, 5}}, .attributes = {{"axis", 1}}},
                 {.name = "f64, statistics in f32", .shapes = {{2, 7}, {7}}, .dtype = DType::f64}};
       }},
      {.name = "RMSNormalization",
       .doc = "Divides by the root of the mean square over the axes from `axis` on.",
       .since = 23,
       .inputs = {{"X", any_float}, {"scale", any_float}},
       .attributes = {{"axis", -1}, {"epsilon", 1e-5}, {"stash_type", 1}},
       .define = rms_normalization,
       .cases = [] -> Cases {
         return {{.name = "last", .shapes = {{2, 3, 7}, {7}}},
                 {.name = "two axes", .shapes = {{2, 3, 5}, {3, 5}}, .attributes = {{"axis", -2}}}};
       }},
      {.name = "GroupNormalization",
       .doc = "Normalises groups of channels; scale and bias are per channel.",
       .since = 21,
       .inputs = {{"X", any_float}, {"scale", any_float}, {"bias", any_float}},
       .attributes = {{"epsilon", 1e-5}, {"num_groups", {}, true}, {"stash_type", 1}},
       .define = group_normalization,
       .cases = [] -> Cases {
         return {
             {.name = "two groups",
              .shapes = {{2, 4, 3, 3}, {4}, {4}},
              .attributes = {{"num_groups", 2}}},
             {.name = "line", .shapes = {{1, 6, 5}, {6}, {6}}, .attributes = {{"num_groups", 3}}}};
       }},
      {.name = "LpNormalization",
       .doc = "Divides by the 1- or 2-norm along an axis.",
       .since = 22,
       .inputs = {{"input", any_float}},
       .outputs = {"output"},
       .attributes = {{"axis", -1}, {"p", 2}},
       .define = lp_normalization,
       .cases = [] -> Cases {
         return {{.name = "two", .shapes = {{3, 5}}},
                 {.name = "one", .shapes = {{2, 4, 3}}, .attributes = {{"p", 1}, {"axis", 1}}}};
       }},
      {.name = "MeanVarianceNormalization",
       .doc = "Normalises over axes, batch and plane by default.",
       .since = 13,
       .inputs = {{"X", any_float}},
       .attributes = {{"axes", Numbers{0, 2, 3}}},
       .define = mean_variance_normalization,
       .cases = [] -> Cases {
         return {{.name = "image", .shapes = {{2, 3, 4, 5}}},
                 {.name = "rows", .shapes = {{4, 7}}, .attributes = {{"axes", Numbers{1}}}}};
       }},
      {.name = "LRN",
       .doc = "Local response normalisation across neighbouring channels.",
       .since = 13,
       .inputs = {{"X", any_float}},
       .attributes = {{"alpha", 0.0001}, {"beta", 0.75}, {"bias", 1.0}, {"size", {}, true}},
       .define = lrn,
       .cases = [] -> Cases {
         return {
             {.name = "odd", .shapes = {{1, 7, 3, 3}}, .attributes = {{"size", 3}, {"alpha", 0.1}}},
             {.name = "even",
              .shapes = {{2, 5, 2, 2}},
              .attributes = {{"size", 4}, {"alpha", 0.2}, {"beta", 0.5}, {"bias", 2.0}}}};
       }},
  };
}

}  // namespace gossamer::ops
