// Softmax and its kin along one axis.
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/reduction/reduce.h"

namespace gossamer::ops {
namespace {

// Stages: the largest element, what is over it, the sum of exponentials; in f32 for half types. A
// row is multiplied by the sum's reciprocal: divisions take several times as long.
Result<> softmax_define(Builder& b, bool log) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  std::string name = log ? "log_softmax" : "softmax";
  DType wide = accumulator(x.dtype());
  auto of_row = [axis](const Tensor& row, Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    at[static_cast<size_t>(axis)] = ir::index(0);
    return row.at(at);
  };
  Tensor largest = reduce_axes(b, name + ".max", x, {axis}, true, Builder::Join::max, wide,
                               [&](Point at) { return ir::cast(wide, x.at(at)); });
  auto shifted = [&](Point at) { return ir::cast(wide, x.at(at)) - of_row(largest, at); };
  if (log) {
    Tensor total = reduce_axes(b, name + ".sum", x, {axis}, true, Builder::Join::sum, wide,
                               [&](Point at) { return ir::exp(shifted(at)); });
    b.output(0, b.compute(name, x.dtype(), x.shape(), [&](Point at) {
      return ir::cast(x.dtype(), shifted(at) - ir::log(of_row(total, at)));
    }));
    return {};
  }
  Tensor power =
      b.compute(name + ".exp", wide, x.shape(), [&](Point at) { return ir::exp(shifted(at)); });
  Tensor scale = reduce_axes(
      b, name + ".sum", power, {axis}, true, Builder::Join::sum, wide,
      [&](Point at) { return power.at(at); },
      [&](const Expr& sum) { return ir::constant(sum->type, 1) / sum; });
  b.output(0, b.compute(name, x.dtype(), x.shape(), [&](Point at) {
    return ir::cast(x.dtype(), power.at(at) * of_row(scale, at));
  }));
  return {};
}

Result<> hardmax(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(int axis, b.axis("axis", x.rank()));
  Tensor best = best_index(b, "hardmax.index", x, axis, true, false, false);
  b.output(0, b.compute("hardmax", x.dtype(), x.shape(), [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    at[static_cast<size_t>(axis)] = ir::index(0);
    return ir::cast(x.dtype(), as_index(best.at(at)) == point[static_cast<size_t>(axis)]);
  }));
  return {};
}

OpDef along_axis(std::string name, Doc doc, std::function<Result<>(Builder&)> define) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 13,
          .inputs = {{"input", any_float}},
          .outputs = {"output"},
          .attributes = {{"axis", -1}},
          .define = std::move(define),
          .cases = [] -> Cases {
            return {{.name = "rows", .shapes = {{3, 7}}},
                    {.name = "columns", .shapes = {{5, 4}}, .attributes = {{"axis", 0}}},
                    {.name = "middle", .shapes = {{2, 5, 3}}, .attributes = {{"axis", 1}}},
                    {.name = "long row", .shapes = {{1, 66000}}},
                    {.name = "large values", .shapes = {{2, 9}}, .low = -500, .high = 500}};
          }};
}

}  // namespace

std::vector<OpDef> softmax_family() {
  return {
      along_axis("Softmax", "exp(x) over its sum along an axis.",
                 [](Builder& b) { return softmax_define(b, false); }),
      along_axis("LogSoftmax", "The logarithm of Softmax.",
                 [](Builder& b) { return softmax_define(b, true); }),
      along_axis("Hardmax", "1 at the first largest element along an axis, 0 elsewhere.", hardmax),
  };
}

}  // namespace gossamer::ops
