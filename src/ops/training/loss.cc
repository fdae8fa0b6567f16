// Losses of classification.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/reduction/reduce.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

// The negative log likelihood of `target` [n, ...] under log probabilities [n, classes, ...],
// weighted and reduced.
Result<Tensor> likelihood_loss(Builder& b, const std::string& name, const Tensor& logs,
                               const Tensor& target, const Tensor& weight) {
  if (logs.rank() < 2 || target.rank() != logs.rank() - 1) {
    return b.error(cat("scores have rank ", logs.rank(), ", targets have rank ", target.rank()));
  }
  Shape wanted = logs.shape();
  wanted.erase(wanted.begin() + 1);
  GS_TRY(has_shape(b, 1, wanted));
  GS_TRY(has_shape(b, 2, {logs.dim(1)}));
  if (weight && weight.dtype() != logs.dtype()) return b.error("weights differ in type");
  DType dtype = logs.dtype(), wide = accumulator(dtype);
  bool ignores = b.has_attribute("ignore_index");
  double ignored = static_cast<double>(b.integer("ignore_index"));
  auto class_at = [&](Point p) { return as_index(target.at(p)); };
  auto share = [&](Point p) {
    Expr value = weight ? ir::cast(wide, weight({class_at(p)})) : ir::constant(wide, 1);
    return ignores ? ir::select(class_at(p) == ignored, ir::zero(wide), value) : value;
  };
  auto loss = [&](Point p) {
    std::vector<Expr> at(p.begin(), p.end());
    at.insert(at.begin() + 1, class_at(p));
    Expr value = -(ir::cast(wide, logs.at(at)) * share(p));
    // The class to ignore may not be one.
    return ignores ? ir::select(class_at(p) == ignored, ir::zero(wide), value) : value;
  };
  std::string reduction = b.text("reduction");
  if (reduction == "none") {
    return b.compute(name, dtype, target.shape(),
                     [&](Point p) { return ir::cast(dtype, loss(p)); });
  }
  if (reduction != "sum" && reduction != "mean") {
    return b.error(cat("`reduction` is \"", reduction, "\""), "it must be none, sum or mean");
  }
  bool mean = reduction == "mean";
  Expr total;
  Tensor shares;
  if (mean && (weight || ignores)) {
    shares = reduce_axes(b, name + ".weights", target, all_axes(target), false, Builder::Join::sum,
                         wide, share);
    total = shares({});
  } else {
    total = ir::cast(wide, count_of(b, target, all_axes(target)));
  }
  return reduce_axes(b, name, target, all_axes(target), false, Builder::Join::sum, dtype, loss,
                     [&](Expr sum) { return ir::cast(dtype, mean ? sum / total : sum); });
}

Result<> likelihood(Builder& b) {
  GS_ASSIGN(Tensor loss,
            likelihood_loss(b, "negative_log_likelihood", b.input(0), b.input(1), b.input(2)));
  b.output(0, loss);
  return {};
}

Result<> cross_entropy(Builder& b) {
  GS_ASSIGN(Tensor logs, b.call1("LogSoftmax", {b.input(0)}, {{"axis", 1}}));
  GS_ASSIGN(Tensor loss, likelihood_loss(b, "softmax_cross_entropy", logs, b.input(1), b.input(2)));
  b.output(0, loss);
  b.output(1, logs);
  return {};
}

OpDef entry(std::string name, Doc doc, std::vector<std::string> outputs, int since,
            Result<> (*define)(Builder&)) {
  TensorData classes = int64s({3}, {0, 4, 2});
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"input", any_float},
                     {"target", integer_index},
                     {"weight", any_float, InputDef::optional}},
          .outputs = std::move(outputs),
          .attributes = {{"ignore_index", {}}, {"reduction", "mean"}},
          .define = define,
          .cases = [=] -> Cases {
            return {{.name = "mean", .shapes = {{3, 5}}, .inputs = {{}, classes}},
                    {.name = "weights",
                     .shapes = {{3, 5}, {}, {5}},
                     .attributes = {{"reduction", "sum"}},
                     .inputs = {{}, classes}},
                    {.name = "pixels",
                     .shapes = {{1, 5, 3}},
                     .attributes = {{"reduction", "none"}, {"ignore_index", -1}},
                     .inputs = {{}, int64s({1, 3}, {1, -1, 4})}}};
          }};
}

}  // namespace

std::vector<OpDef> loss_family() {
  return {
      entry("NegativeLogLikelihoodLoss", "Minus the log probability of the target class.", {"loss"},
            22, likelihood),
      entry("SoftmaxCrossEntropyLoss", "Minus the log of the target class's softmax.",
            {"output", "log_prob"}, 13, cross_entropy),
  };
}

}  // namespace gossamer::ops
