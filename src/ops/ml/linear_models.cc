// Classic machine learning (domain ai.onnx.ml) on tensors of numbers: linear models, scaling,
// feature selection.
#include "ops/ml/linear_models.h"

#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/functions.h"
#include "ops/reduction/reduce.h"
#include "ops/reshape_index.h"

namespace gossamer::ops {
namespace {

Result<> linear_regressor(Builder& b) {
  const Tensor& x = b.input(0);
  const int64_t targets = b.integer("targets");
  GS_ASSIGN(Tensor scores, linear_scores(b, x, targets));
  GS_ASSIGN(scores, transformed_targets(b, scores, targets, b.text("post_transform")));
  b.output(0, scores);
  return {};
}

Result<> linear_classifier(Builder& b) {
  int64_t rows = static_cast<int64_t>(b.numbers("intercepts").size());
  if (rows == 0)
    rows = std::max<int64_t>(1, static_cast<int64_t>(b.integers("classlabels_ints").size() +
                                                     b.texts("classlabels_strings").size()));
  GS_ASSIGN(Tensor scores, linear_scores(b, b.input(0), rows));
  const bool one = rows == 1 && label_count(b, "classlabels_ints") == 2;
  return classified(b, scores, one ? std::optional(OneScore{0, true}) : std::nullopt,
                    "classlabels_ints");
}

Result<> normalizer(Builder& b) {
  const Tensor& x = b.input(0);
  std::string norm = b.text("norm");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return b.error(cat("`norm` is \"", norm, "\""), "it must be MAX, L1 or L2");
  int last = x.rank() - 1;
  auto real = [&](Point p) { return ir::cast(DType::f32, x.at(p)); };
  Tensor size = reduce_axes(
      b, "normalizer.norm", x, {last}, true,
      norm == "MAX" ? Builder::Join::max : Builder::Join::sum, DType::f32,
      [&](Point p) {
        if (norm == "MAX") return real(p);
        return norm == "L2" ? real(p) * real(p) : ir::abs(real(p));
      },
      [&](Expr value) { return norm == "L2" ? norm_of(value) : value; });
  b.output(0, b.compute("normalizer", DType::f32, x.shape(), [&](Point p) {
    Expr by = b.at_broadcast(size, p);
    return ir::select(by == 0, real(p), real(p) / by);
  }));
  return {};
}

Result<> scaler(Builder& b) {
  const Tensor& x = b.input(0);
  auto parameter = [&](std::string_view name, float fallback) {
    std::vector<double> given = b.numbers(name);
    if (given.empty()) given = {fallback};
    int64_t count = static_cast<int64_t>(given.size());
    return b.constant(floats({count}, {given.begin(), given.end()}));
  };
  Tensor offset = parameter("offset", 0), scale = parameter("scale", 1);
  GS_TRY(b.broadcast(x.shape(), offset.shape()));
  GS_TRY(b.broadcast(x.shape(), scale.shape()));
  b.output(0, b.compute("scaler", DType::f32, x.shape(), [&](Point p) {
    return (ir::cast(DType::f32, x.at(p)) - b.at_broadcast(offset, p)) * b.at_broadcast(scale, p);
  }));
  return {};
}

// The indices count as one row, whatever their shape.
Result<> feature_extractor(Builder& b) {
  const Tensor& x = b.input(0);
  if (x.rank() < 1) return b.error("X needs an axis");
  const Expr count = b.simplify(product(b.input(1).shape()));
  const Tensor row = b.reshape("array_feature_extractor.indices", b.input(1), {count});
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  if (shape.empty()) shape.push_back(ir::index(1));
  shape.push_back(count);
  b.output(0, b.compute("array_feature_extractor", x.dtype(), shape, [&](Point p) {
    std::vector<Expr> at(p.begin(), p.begin() + x.rank() - 1);
    at.push_back(as_index(row({p.back()})));
    return x.at(at);
  }));
  return {};
}

Result<> binarizer(Builder& b) {
  double threshold = b.number("threshold");
  return elementwise(b, b.input(0).dtype(), [&](std::span<const Expr> x) {
    return ir::cast(x[0]->type, x[0] > threshold);
  });
}

}  // namespace

Result<Tensor> linear_scores(Builder& b, const Tensor& x, int64_t rows) {
  std::vector<double> weights = b.numbers("coefficients"), offsets = b.numbers("intercepts");
  int64_t count = static_cast<int64_t>(weights.size());
  if (rows < 1 || count % rows != 0) return b.error("`coefficients` do not divide into rows");
  int64_t features = count / rows;
  if (x.rank() < 1 || x.rank() > 2)
    return b.error(cat("input has rank ", x.rank()), "it is [samples, features]");
  GS_TRY(b.require(x.dim(-1) == static_cast<double>(features),
                   cat("the model has ", features, " features")));
  Tensor w = b.constant(floats({rows, features}, {weights.begin(), weights.end()}));
  if (offsets.empty()) offsets.assign(static_cast<size_t>(rows), 0);
  if (static_cast<int64_t>(offsets.size()) != rows)
    return b.error("`intercepts` do not fit the rows");
  Tensor bias = b.constant(floats({rows}, {offsets.begin(), offsets.end()}));
  Expr samples = x.rank() == 2 ? x.dim(0) : ir::index(1);
  return b.reduce(
      "linear.scores", Builder::Join::sum, DType::f32, {samples, ir::index(rows)},
      {ir::index(features)},
      [&](Point p, Point r) {
        Expr load = x.rank() == 2 ? x({p[0], r[0]}) : x({r[0]});
        return ir::cast(DType::f32, load) * w({p[1], r[0]});
      },
      [&](Point p, Expr sum) { return sum + bias({p[1]}); });
}

Result<Tensor> post_transformed(Builder& b, const Tensor& scores, std::string_view how) {
  DType dtype = scores.dtype();
  if (how == "NONE") return scores;
  if (how == "LOGISTIC") return b.call1("Sigmoid", {scores});
  if (how == "SOFTMAX") return b.call1("Softmax", {scores}, {{"axis", -1}});
  if (how == "SOFTMAX_ZERO") {
    // Softmax over the scores that are not 0; the others count by what they are.
    auto power = [&](const Tensor& most, Point p) {
      Expr x = scores.at(p), top = most({p[0], ir::index(0)});
      return ir::select(ir::abs(x) > 1e-7, ir::exp(x - top), x * ir::exp(-top));
    };
    auto load = [&](Point p) { return scores.at(p); };
    Tensor most =
        reduce_axes(b, "softmax_zero.max", scores, {1}, true, Builder::Join::max, dtype, load);
    Tensor sum = reduce_axes(
        b, "softmax_zero.sum", scores, {1}, true, Builder::Join::sum, dtype, [&](Point p) {
          return ir::select(ir::abs(scores.at(p)) > 1e-7, power(most, p), ir::zero(dtype));
        });
    return b.compute("softmax_zero", dtype, scores.shape(), [&](Point p) {
      Expr total = sum({p[0], ir::index(0)});
      return ir::select(total == 0.0, power(most, p), power(most, p) / total);
    });
  }
  if (how == "PROBIT") {
    // The inverse of the normal distribution, by Winitzki's approximation of the inverse of erf.
    return b.compute("probit", dtype, scores.shape(), [&](Point p) {
      Expr x = scores.at(p) * 2.0 - 1.0;
      Expr log = ir::log((1.0 - x) * (x + 1.0)), half = log * 0.5 + 2 / (3.14159 * 0.147);
      Expr size = ir::sqrt(ir::sqrt(half * half - log * (1 / 0.147)) - half) * 1.41421356;
      return ir::select(x < 0.0, -size, size);
    });
  }
  return b.error(cat("`post_transform` ", how, " is not known"));
}

Result<Tensor> transformed_targets(Builder& b, const Tensor& scores, int64_t targets,
                                   std::string_view how) {
  if (targets == 1 && how != "PROBIT") return scores;
  return post_transformed(b, scores, how);
}

size_t label_count(const Builder& b, std::string_view labels_attribute) {
  return std::max(b.integers(labels_attribute).size(), b.texts("classlabels_strings").size());
}

Result<> classified(Builder& b, const Tensor& scores, std::optional<OneScore> one,
                    std::string_view labels_attribute) {
  const std::string how = b.text("post_transform");
  const Numbers labels = b.integers(labels_attribute);
  const std::vector<std::string> names = b.texts("classlabels_strings");
  Tensor made, place;
  if (one) {
    const bool single = ir::is_const(scores.dim(1), 1);
    const Expr second = ir::index(single ? 0 : 1);
    place = b.compute("classifier.place", DType::i64, {scores.dim(0)}, [&](Point p) {
      return ir::cast(DType::i64, scores({p[0], second}) > one->threshold);
    });
    if (single) {
      const bool logistic = how == "LOGISTIC";
      made =
          b.compute("classifier.scores", DType::f32, {scores.dim(0), ir::index(2)}, [&](Point p) {
            const Expr s = scores({p[0], second});
            if (logistic) return 1.0 / (ir::exp(ir::select(p[1] == 1, -s, s)) + 1.0);
            return ir::select(p[1] == 1, s, one->missing_to_one ? 1.0 - s : -s);
          });
    }
  } else {
    place = best_index(b, "classifier.place", scores, 1, false, false, false);
  }
  if (!made) {
    GS_ASSIGN(made, post_transformed(b, scores, how));
  }
  b.output(0, labelled(b, place, labels, names));
  b.output(1, made);
  return {};
}

Tensor labelled(Builder& b, const Tensor& place, const Numbers& labels,
                const std::vector<std::string>& names) {
  int64_t count = static_cast<int64_t>(labels.size());
  bool plain = !labels.empty() || names.empty();
  for (int64_t i = 0; i < count; ++i) plain = plain && labels[static_cast<size_t>(i)] == i;
  if (plain) return place;
  if (labels.empty()) count = static_cast<int64_t>(names.size());
  Tensor table = b.constant(labels.empty() ? strings({count}, names) : int64s({count}, labels));
  return b.compute("classifier.label", table.dtype(), {place.dim(0)},
                   [&](Point p) { return table({as_index(place.at(p))}); });
}

std::vector<OpDef> linear_model_family() {
  using D = std::vector<double>;
  using S = std::vector<std::string>;
  std::string ml = "ai.onnx.ml";
  TypeSet numbers = only(DType::f32) | only(DType::f64) | only(DType::i32) | only(DType::i64);
  return {
      {.name = "LinearRegressor",
       .doc = "A linear model.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .attributes =
           {{"coefficients", D{}}, {"intercepts", D{}}, {"post_transform", "NONE"}, {"targets", 1}},
       .define = linear_regressor,
       .cases = [] -> Cases {
         return {
             {.name = "two targets",
              .shapes = {{3, 2}},
              .attributes = {
                  {"coefficients", D{1, 2, 3, 4}}, {"intercepts", D{0.5, -1}}, {"targets", 2}}}};
       }},
      {.name = "LinearClassifier",
       .doc = "A linear model's class, and its scores.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .outputs = {"Y", "Z"},
       .attributes = {{"classlabels_ints", Numbers{}},
                      {"classlabels_strings", S{}},
                      {"coefficients", D{}},
                      {"intercepts", D{}},
                      {"multi_class", 0},
                      {"post_transform", "NONE"}},
       .define = linear_classifier,
       .cases = [] -> Cases {
         return {{.name = "three classes",
                  .shapes = {{4, 2}},
                  .attributes = {{"classlabels_ints", Numbers{7, 3, 5}},
                                 {"coefficients", D{1, -2, 3, 4, 0.5, 1}},
                                 {"intercepts", D{0, 1, -1}},
                                 {"post_transform", "SOFTMAX"}}}};
       }},
      {.name = "Normalizer",
       .doc = "Divides rows by their norm.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .attributes = {{"norm", "MAX"}},
       .define = normalizer,
       .cases = [] -> Cases {
         return {{.name = "euclid", .shapes = {{3, 4}}, .attributes = {{"norm", "L2"}}},
                 {.name = "sum", .shapes = {{2, 5}}, .attributes = {{"norm", "L1"}}}};
       }},
      {.name = "Scaler",
       .doc = "(x - offset) * scale.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .attributes = {{"offset", D{}}, {"scale", D{}}},
       .define = scaler,
       .cases = [] -> Cases {
         return {{.name = "columns",
                  .shapes = {{3, 2}},
                  .attributes = {{"offset", D{1, 2}}, {"scale", D{0.5, 2}}}}};
       }},
      {.name = "ArrayFeatureExtractor",
       .doc = "Columns of X at indices.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers | strings_only}, {"Y", only(DType::i64)}},
       .outputs = {"Z"},
       .define = feature_extractor,
       .cases = [] -> Cases {
         return {{.name = "columns", .shapes = {{3, 4}}, .inputs = {{}, int64s({1, 2}, {3, 0})}},
                 {.name = "indices of any shape",
                  .shapes = {{5}},
                  .inputs = {{}, int64s({3, 1}, {4, 0, 2})}}};
       }},
      {.name = "ZipMap",
       .doc = "The scores themselves: [samples, classes] in the labels' order, instead of a list "
              "of maps.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", only(DType::f32)}},
       .outputs = {"Z"},
       .attributes = {{"classlabels_int64s", Numbers{}}, {"classlabels_strings", S{}}},
       .define = [](Builder& b) -> Result<> {
         b.output(0, b.input(0));
         return {};
       },
       .cases = [] -> Cases { return {{.name = "scores", .shapes = {{3, 2}}}}; }},
      {.name = "Binarizer",
       .doc = "1 above a threshold, 0 elsewhere.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .attributes = {{"threshold", 0.0}},
       .define = binarizer,
       .cases = [] -> Cases {
         return {{.name = "half", .shapes = {{3, 4}}, .attributes = {{"threshold", 0.5}}}};
       }},
  };
}

}  // namespace gossamer::ops
