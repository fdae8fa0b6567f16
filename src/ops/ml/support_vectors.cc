// Support vector machines of ai.onnx.ml.
#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/ml/linear_models.h"
#include "ops/reduction/reduce.h"

namespace gossamer::ops {
namespace {

constexpr int64_t max_vectors = 1 << 20;

// [samples, rows]: the kernel function of each sample of x and each row of `vectors`.
Result<Tensor> kernel_values(Builder& b, const std::vector<double>& vectors, int64_t rows,
                             std::string_view kind, double offset) {
  const Tensor& x = b.input(0);
  if (x.rank() != 1 && x.rank() != 2)
    return b.error(cat("input has rank ", x.rank()), "it is [samples, features]");
  int64_t count = static_cast<int64_t>(vectors.size());
  if (rows < 1 || rows > max_vectors || count == 0 || count % rows != 0)
    return b.error(cat(count, " numbers do not divide into ", rows, " vectors"));
  int64_t features = count / rows;
  GS_TRY(b.require(x.dim(-1) == static_cast<double>(features),
                   cat("the model has ", features, " features")));
  std::vector<double> parameters = b.numbers("kernel_params");
  parameters.resize(3);
  double gamma = parameters[0], shift = parameters[1], degree = parameters[2];
  if (kind != "LINEAR" && kind != "POLY" && kind != "RBF" && kind != "SIGMOID")
    return b.error(cat("`kernel_type` is \"", kind, "\""),
                   "it must be LINEAR, POLY, RBF or SIGMOID");
  Tensor table = b.constant(floats({rows, features}, {vectors.begin(), vectors.end()}));
  Expr samples = x.rank() == 2 ? x.dim(0) : ir::index(1);
  return b.reduce(
      "support_vectors.kernel", Builder::Join::sum, DType::f32, {samples, ir::index(rows)},
      {ir::index(features)},
      [&](Point p, Point r) {
        Expr value = ir::cast(DType::f32, x.rank() == 2 ? x({p[0], r[0]}) : x({r[0]}));
        Expr vector = table({p[1], r[0]});
        return kind == "RBF" ? (value - vector) * (value - vector) : value * vector;
      },
      [&](Point, Expr sum) {
        if (kind == "LINEAR") return offset == 0 ? sum : sum + offset;
        if (kind == "RBF") return ir::exp(sum * -gamma);
        sum = sum * gamma + shift;
        if (kind == "SIGMOID") return ir::tanh(sum);
        if (degree != std::floor(degree) || degree < 0 || degree > 16)
          return ir::pow(sum, ir::constant(DType::f32, degree));
        Expr power = ir::constant(DType::f32, 1);
        for (int i = 0; i < static_cast<int>(degree); ++i) power = power * sum;
        return power;
      });
}

Result<> regressor(Builder& b) {
  std::vector<double> weights = b.numbers("coefficients"), rho = b.numbers("rho");
  if (rho.empty()) return b.error("`rho` is missing");
  int64_t count = b.integer("n_supports");
  bool one_class = b.integer("one_class") != 0;
  // One of the class says 1, an outlier -1.
  auto finished = [&](const Expr& score) {
    return one_class
               ? ir::select(score > 0.0, ir::constant(DType::f32, 1), ir::constant(DType::f32, -1))
               : score;
  };
  Tensor scores;
  if (count > 0) {
    GS_ASSIGN(Tensor kernels,
              kernel_values(b, b.numbers("support_vectors"), count, b.text("kernel_type"), 0));
    if (static_cast<int64_t>(weights.size()) != count)
      return b.error("`coefficients` has not one number a support vector");
    Tensor table = b.constant(floats({count}, {weights.begin(), weights.end()}));
    scores = b.reduce(
        "support_vectors.score", Builder::Join::sum, DType::f32, {kernels.dim(0), ir::index(1)},
        {ir::index(count)}, [&](Point p, Point r) { return kernels({p[0], r[0]}) * table({r[0]}); },
        [&](Point, Expr sum) { return finished(sum + rho[0]); });
  } else {
    GS_ASSIGN(scores, kernel_values(b, weights, 1, "LINEAR", rho[0]));
    if (one_class) {
      scores = b.compute("support_vectors.sign", DType::f32, scores.shape(),
                         [&](Point p) { return finished(scores.at(p)); });
    }
  }
  // ONNX Runtime, against which models are checked, leaves the scores as they are whatever
  // `post_transform` says.
  b.output(0, scores);
  return {};
}

// The pairs of classes, in the order of libsvm: (0, 1), (0, 2), ..., (1, 2), ...
std::vector<std::pair<int64_t, int64_t>> pairs_of(int64_t classes) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j) pairs.emplace_back(i, j);
  }
  return pairs;
}

// [samples, classes]: what the classes share if a pair's first has the probability that a sigmoid
// gives its score. The iteration of Wu, Lin and Weng (2004, method 2), as libsvm has it.
Result<Tensor> coupled(Builder& b, const Tensor& scores, int64_t classes) {
  auto pairs = pairs_of(classes);
  int64_t count = static_cast<int64_t>(pairs.size());
  std::vector<double> first = b.numbers("prob_a"), second = b.numbers("prob_b");
  if (static_cast<int64_t>(first.size()) != count || first.size() != second.size())
    return b.error(cat("`prob_a` and `prob_b` have ", count, " numbers, one a pair of classes"));
  std::vector<float> factors(static_cast<size_t>(classes * classes)), shifts = factors;
  std::vector<int32_t> place(static_cast<size_t>(classes * classes));
  for (size_t p = 0; p < pairs.size(); ++p) {
    for (int64_t at :
         {pairs[p].first * classes + pairs[p].second, pairs[p].second * classes + pairs[p].first}) {
      factors[static_cast<size_t>(at)] = static_cast<float>(first[p]);
      shifts[static_cast<size_t>(at)] = static_cast<float>(second[p]);
      place[static_cast<size_t>(at)] = static_cast<int32_t>(p);
    }
  }
  std::vector<int64_t> square = {classes, classes};
  Tensor factor = b.constant(floats(square, factors)), shift = b.constant(floats(square, shifts)),
         pair = b.constant(int32s(square, place));
  Expr samples = scores.dim(0), k = ir::index(classes);
  // The probability of the row's class against the column's; nothing on the diagonal.
  Tensor against = b.compute("coupled.pairs", DType::f32, {samples, k, k}, [&](Point p) {
    Expr score = scores({p[0], as_index(pair({p[1], p[2]}))});
    Expr upper = 1.0 / (ir::exp(score * factor({p[1], p[2]}) + shift({p[1], p[2]})) + 1.0);
    upper = ir::min(ir::max(upper, 1e-7), 1 - 1e-7);
    return ir::select(p[1] == p[2], ir::zero(DType::f32),
                      ir::select(p[1] < p[2], upper, 1.0 - upper));
  });
  Tensor q = b.reduce("coupled.q", Builder::Join::sum, DType::f32, {samples, k, k}, {k},
                      [&](Point p, Point r) {
                        Expr own = against({p[0], r[0], p[1]});
                        Expr off = -against({p[0], p[2], p[1]}) * against({p[0], p[1], p[2]});
                        return ir::select(p[1] == p[2], own * own,
                                          ir::select(r[0] == 0, off, ir::zero(DType::f32)));
                      });
  Tensor even = b.compute("coupled.even", DType::f32, {samples, k}, [&](Point) {
    return ir::constant(DType::f32, 1.0 / static_cast<double>(classes));
  });
  auto step = [&](const Expr&, std::span<const Tensor> states) -> Result<Builder::Round> {
    const Tensor& before = states[0];
    Tensor product =
        b.reduce("coupled.product", Builder::Join::sum, DType::f32, {samples, k}, {k},
                 [&](Point p, Point r) { return q({p[0], p[1], r[0]}) * before({p[0], r[0]}); });
    Tensor mean =
        b.reduce("coupled.mean", Builder::Join::sum, DType::f32, {samples, ir::index(1)}, {k},
                 [&](Point p, Point r) { return product({p[0], r[0]}) * before({p[0], r[0]}); });
    Tensor error = b.reduce("coupled.error", Builder::Join::max, DType::f32,
                            {samples, ir::index(1)}, {k}, [&](Point p, Point r) {
                              return ir::abs(product({p[0], r[0]}) - mean({p[0], ir::index(0)}));
                            });
    // A row: the shares, their products with q, and the mean of these.
    Tensor row =
        b.compute("coupled.row", DType::f32, {samples, ir::index(2 * classes + 1)}, [&](Point p) {
          Expr within = ir::min(ir::max(p[1] - static_cast<double>(classes), ir::index(0)),
                                ir::index(classes - 1));
          return ir::select(p[1] < static_cast<double>(classes),
                            before({p[0], ir::min(p[1], ir::index(classes - 1))}),
                            ir::select(p[1] < static_cast<double>(2 * classes),
                                       product({p[0], within}), mean({p[0], ir::index(0)})));
        });
    Expr last = ir::index(2 * classes);
    for (int64_t t = 0; t < classes; ++t) {
      Tensor now = row;
      Expr own = ir::index(t);
      Tensor change =
          b.compute("coupled.change", DType::f32, {samples, ir::index(1)}, [&](Point p) {
            return (now({p[0], last}) - now({p[0], ir::index(classes + t)})) / q({p[0], own, own});
          });
      row = b.compute("coupled.row", DType::f32, now.shape(), [&](Point p) {
        Expr by = change({p[0], ir::index(0)}), scale = by + 1.0, value = now.at(p);
        Expr within = ir::min(ir::max(p[1] - static_cast<double>(classes), ir::index(0)),
                              ir::index(classes - 1));
        Expr share = ir::select(p[1] == own, value + by, value) / scale;
        Expr times = (value + by * q({p[0], own, within})) / scale;
        Expr mean =
            (value + by * (by * q({p[0], own, own}) + now({p[0], ir::index(classes + t)}) * 2.0)) /
            (scale * scale);
        return ir::select(p[1] < static_cast<double>(classes), share,
                          ir::select(p[1] < static_cast<double>(2 * classes), times, mean));
      });
    }
    Tensor after = b.compute("coupled.next", DType::f32, {samples, k}, [&](Point p) {
      return ir::select(error({p[0], ir::index(0)}) < 0.005 / static_cast<double>(classes),
                        before.at(p), row.at(p));
    });
    return Builder::Round{{after}, {}};
  };
  GS_ASSIGN(Builder::Round made,
            b.loop("coupled", ir::index(std::max<int64_t>(100, classes)), {{even}}, step));
  return made.states[0];
}

// The scores as the model gives them out; a single one becomes that of two classes.
Result<Tensor> final_scores(Builder& b, const Tensor& scores, int64_t columns, bool split) {
  std::string how = b.text("post_transform");
  if (columns >= 2) return post_transformed(b, scores, how);
  if (!split) return transformed_targets(b, scores, columns, how);
  Tensor both =
      b.compute("support_vectors.both", DType::f32, {scores.dim(0), ir::index(2)}, [&](Point p) {
        Expr s = scores({p[0], ir::index(0)});
        return ir::select(p[1] == 0, -s, s);
      });
  // ONNX Runtime transforms no softmax of two scores that are one.
  if (how == "SOFTMAX" || how == "SOFTMAX_ZERO") return both;
  return post_transformed(b, both, how);
}

Result<> classifier(Builder& b) {
  std::vector<double> weights = b.numbers("coefficients"), rho = b.numbers("rho");
  Numbers sizes = b.integers("vectors_per_class"), labels = b.integers("classlabels_ints");
  if (rho.empty() || weights.empty()) return b.error("`rho` or `coefficients` is missing");
  int64_t known = static_cast<int64_t>(label_count(b, "classlabels_ints"));
  int64_t classes = std::max<int64_t>(known, 1), vectors = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > max_vectors) return b.error("`vectors_per_class` is out of range");
    vectors += size;
  }
  bool positive = std::ranges::all_of(weights, [](double weight) { return weight >= 0; });
  int64_t columns = classes;
  Tensor scores, place, weight;
  if (vectors == 0) {
    GS_ASSIGN(scores, kernel_values(b, weights, classes, "LINEAR", rho[0]));
    place = best_index(b, "support_vectors.place", scores, 1, false, false, false);
    weight = reduce_axes(b, "support_vectors.weight", scores, {1}, false, Builder::Join::max,
                         DType::f32, [&](Point p) { return scores.at(p); });
  } else {
    auto pairs = pairs_of(classes);
    columns = static_cast<int64_t>(pairs.size());
    if (static_cast<int64_t>(sizes.size()) != classes || classes < 2 ||
        static_cast<int64_t>(rho.size()) < columns ||
        static_cast<int64_t>(weights.size()) != (classes - 1) * vectors ||
        columns * vectors > (int64_t{1} << 28)) {
      return b.error("`vectors_per_class`, `rho` and `coefficients` do not fit the classes");
    }
    GS_ASSIGN(Tensor kernels,
              kernel_values(b, b.numbers("support_vectors"), vectors, b.text("kernel_type"), 0));
    Numbers start(static_cast<size_t>(classes), 0);
    for (size_t c = 1; c < start.size(); ++c) start[c] = start[c - 1] + sizes[c - 1];
    // A pair is decided by the vectors of its two classes.
    std::vector<float> table(static_cast<size_t>(columns * vectors), 0);
    std::vector<int32_t> winners, losers;
    for (int64_t p = 0; p < columns; ++p) {
      auto [i, j] = pairs[static_cast<size_t>(p)];
      for (auto [own, row] : {std::pair(i, j - 1), std::pair(j, i)}) {
        for (int64_t v = 0; v < sizes[static_cast<size_t>(own)]; ++v) {
          int64_t at = start[static_cast<size_t>(own)] + v;
          table[static_cast<size_t>(p * vectors + at)] =
              static_cast<float>(weights[static_cast<size_t>(row * vectors + at)]);
        }
      }
      winners.push_back(static_cast<int32_t>(i));
      losers.push_back(static_cast<int32_t>(j));
    }
    Tensor deciding = b.constant(floats({columns, vectors}, std::move(table))),
           offset = b.constant(floats({columns}, {rho.begin(), rho.begin() + columns})),
           winner = b.constant(int32s({columns}, winners)),
           loser = b.constant(int32s({columns}, losers));
    scores = b.reduce(
        "support_vectors.score", Builder::Join::sum, DType::f32,
        {kernels.dim(0), ir::index(columns)}, {ir::index(vectors)},
        [&](Point p, Point r) { return kernels({p[0], r[0]}) * deciding({p[1], r[0]}); },
        [&](Point p, Expr sum) { return sum + offset({p[1]}); });
    Tensor votes = b.reduce(
        "support_vectors.votes", Builder::Join::sum, DType::f32,
        {scores.dim(0), ir::index(classes)}, {ir::index(columns)}, [&](Point p, Point r) {
          Expr chosen = ir::select(scores({p[0], r[0]}) > 0.0, winner({r[0]}), loser({r[0]}));
          return ir::cast(DType::f32, as_index(chosen) == p[1]);
        });
    place = best_index(b, "support_vectors.place", votes, 1, false, false, false);
    if (!b.numbers("prob_a").empty()) {
      GS_ASSIGN(scores, coupled(b, scores, classes));
      columns = classes;
    }
  }
  // A linear model of two classes is decided by the larger score's sign, as in ONNX Runtime.
  bool mixed = rho.size() == 1 && known == 2;
  if (vectors == 0 && mixed) {
    Tensor chosen = place;
    place = b.compute("support_vectors.second", DType::i64, chosen.shape(), [&](Point p) {
      Expr second = positive ? weight.at(p) >= 0.5 : weight.at(p) > 0.0;
      return ir::select(second, ir::constant_int(DType::i64, 1), chosen.at(p));
    });
  } else if (known == 0) {
    place = b.compute("support_vectors.positive", DType::i64, place.shape(),
                      [&](Point p) { return ir::cast(DType::i64, weight.at(p) > 0.0); });
  }
  b.output(0, labelled(b, place, labels, b.texts("classlabels_strings")));
  GS_ASSIGN(Tensor made, final_scores(b, scores, columns, mixed));
  b.output(1, made);
  return {};
}

}  // namespace

std::vector<OpDef> support_vector_family() {
  using D = std::vector<double>;
  std::string ml = "ai.onnx.ml";
  TypeSet numbers = only(DType::f32) | only(DType::f64) | only(DType::i32) | only(DType::i64);
  Attributes three = {{"classlabels_ints", Numbers{5, 2, 8}},
                      {"coefficients", D{1, -0.5, 0.25, -1, 0.75, 0.5, -0.25, -1}},
                      {"kernel_params", D{0.5, 0.1, 3}},
                      {"kernel_type", "RBF"},
                      {"rho", D{0.1, -0.2, 0.05}},
                      {"support_vectors", D{1, 0.5, -1, 0.25, 0.5, -1.5, -0.75, -0.5}},
                      {"vectors_per_class", Numbers{1, 2, 1}}};
  Attributes likely = three;
  likely["prob_a"] = D{-1.5, -2, -1};
  likely["prob_b"] = D{0.1, 0.2, -0.1};
  return {
      {.name = "SVMRegressor",
       .doc = "A weighted sum of the kernel function with support vectors; or whether one is of "
              "the class.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .attributes = {{"coefficients", D{}},
                      {"kernel_params", D{}},
                      {"kernel_type", "LINEAR"},
                      {"n_supports", 0},
                      {"one_class", 0},
                      {"post_transform", "NONE"},
                      {"rho", D{}},
                      {"support_vectors", D{}}},
       .define = regressor,
       .cases = [] -> Cases {
         return {
             {.name = "polynomial",
              .shapes = {{4, 2}},
              .attributes = {{"coefficients", D{0.5, -1, 2}},
                             {"kernel_params", D{0.5, 1, 3}},
                             {"kernel_type", "POLY"},
                             {"n_supports", 3},
                             {"rho", D{0.25}},
                             {"support_vectors", D{1, 2, -1, 0.5, 0.25, -2}}}},
             {.name = "linear, one class",
              .shapes = {{5, 2}},
              .attributes = {{"coefficients", D{0.5, -1}}, {"one_class", 1}, {"rho", D{0.25}}}}};
       }},
      {.name = "SVMClassifier",
       .doc =
           "The class that most pairs of classes decide for, and scores or shares. String labels "
           "come out as their numbers.",
       .domain = ml,
       .since = 1,
       .inputs = {{"X", numbers}},
       .outputs = {"Y", "Z"},
       .attributes = {{"classlabels_ints", Numbers{}},
                      {"classlabels_strings", std::vector<std::string>{}},
                      {"coefficients", D{}},
                      {"kernel_params", D{}},
                      {"kernel_type", "LINEAR"},
                      {"post_transform", "NONE"},
                      {"prob_a", D{}},
                      {"prob_b", D{}},
                      {"rho", D{}},
                      {"support_vectors", D{}},
                      {"vectors_per_class", Numbers{}}},
       .define = classifier,
       .cases = [=] -> Cases {
         return {{.name = "three classes", .shapes = {{6, 2}}, .attributes = three},
                 {.name = "shares", .shapes = {{6, 2}}, .attributes = likely},
                 {.name = "linear",
                  .shapes = {{4, 2}},
                  .attributes = {{"classlabels_ints", Numbers{0, 1, 2}},
                                 {"coefficients", D{1, -2, 0.5, 1, -1, 0.25}},
                                 {"post_transform", "SOFTMAX"},
                                 {"rho", D{0.5, 0.5, 0.5}}}}};
       }},
  };
}

}  // namespace gossamer::ops
