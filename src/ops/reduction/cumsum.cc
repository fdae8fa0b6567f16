// Running sums and products along an axis.
#include "ops/axes.h"
#include "ops/elementwise.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

// What the attributes make of a running result along one axis.
Tensor along(Builder& b, const std::string& name, Builder::Join join, size_t axis) {
  const Tensor& x = b.input(0);
  bool exclusive = b.integer("exclusive") != 0, reverse = b.integer("reverse") != 0;
  Type wide = accumulator(x.dtype());
  Expr neutral = ir::constant(wide, join == Builder::Join::sum ? 0 : 1);
  const Expr last = x.dim(static_cast<int>(axis)) - ir::index(1);
  auto turned = [&](Point point) {
    std::vector<Expr> at(point.begin(), point.end());
    if (reverse) at[axis] = b.simplify(last - at[axis]);
    return at;
  };
  Tensor running =
      b.scan(name, join, x.dtype(), x.shape(), static_cast<int>(axis), [&](Point point) {
        std::vector<Expr> before(point.begin(), point.end());
        if (exclusive) before[axis] = before[axis] - ir::index(1);
        Expr value = ir::cast(wide, x.at(turned(before)));
        return exclusive ? ir::select(point[axis] > ir::index(0), value, neutral) : value;
      });
  if (!reverse) return running;
  return b.compute(name + ".turned", x.dtype(), x.shape(),
                   [&](Point point) { return running.at(turned(point)); });
}

Result<> running(Builder& b, Builder::Join join) {
  const Tensor& x = b.input(0);
  if (known_numbers(b, 1)) {
    GS_ASSIGN(std::vector<int> axes, axes_from_input(b, 1, x.rank(), false));
    if (axes.size() != 1) return b.error("`axis` must be one number");
    b.output(0, along(b, stage_name(b), join, static_cast<size_t>(axes[0])));
    return {};
  }
  // The axis is known in a run: of the results along each, the one that is chosen.
  if (x.rank() == 0) return b.error("`x` has no axis");
  GS_ASSIGN(std::vector<Expr> chosen, chosen_axes(b, 1, x.rank()));
  std::vector<Tensor> results;
  for (size_t axis = 0; axis < chosen.size(); ++axis)
    results.push_back(along(b, cat(stage_name(b), ".", axis), join, axis));
  b.output(0, b.compute(stage_name(b), x.dtype(), x.shape(), [&](Point point) {
    Expr value = results.back().at(point);
    for (size_t i = results.size() - 1; i-- > 0;)
      value = ir::select(chosen[i], results[i].at(point), value);
    return value;
  }));
  return {};
}

OpDef entry(std::string name, Doc doc, int since, Builder::Join join) {
  auto along = [](int64_t axis) { return std::vector<TensorData>{{}, int64s({}, {axis})}; };
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"x", any_number}, {"axis", integer_index}},
          .outputs = {"y"},
          .attributes = {{"exclusive", 0}, {"reverse", 0}},
          .define = [join](Builder& b) { return running(b, join); },
          .cases = [=] -> Cases {
            return {{.name = "line", .shapes = {{7}}, .inputs = along(0)},
                    {.name = "long axis", .shapes = {{2, 4500}}, .inputs = along(1)},
                    {.name = "told by data", .shapes = {{3, 4, 2}, {}}, .low = 0, .high = 2},
                    {.name = "rows", .shapes = {{3, 5}}, .inputs = along(-1)},
                    {.name = "exclusive",
                     .shapes = {{5, 2}},
                     .attributes = {{"exclusive", 1}},
                     .inputs = along(0)},
                    {.name = "reverse",
                     .shapes = {{2, 6}},
                     .attributes = {{"reverse", 1}, {"exclusive", 1}},
                     .inputs = along(1)}};
          }};
}

}  // namespace

std::vector<OpDef> cumsum_family() {
  return {
      entry("CumSum", "The sum of all elements up to each one along an axis.", 14,
            Builder::Join::sum),
      entry("CumProd", "The product of all elements up to each one along an axis.", 26,
            Builder::Join::prod),
  };
}

}  // namespace gossamer::ops
