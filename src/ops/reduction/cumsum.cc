// Running sums along an axis, as sums over what comes before: quadratic in the axis, in parallel.
#include "ops/define.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

// The axis is known in a run: among all of them, the one that is chosen.
Result<> running_late(Builder& b, Builder::Join join) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> chosen, chosen_axes(b, 1, x.rank()));
  bool exclusive = b.integer("exclusive") != 0, reverse = b.integer("reverse") != 0;
  Type wide = accumulator(x.dtype());
  Expr neutral = ir::constant(wide, join == Builder::Join::sum ? 0 : 1);
  auto of_axis = [&](Point all) {
    Expr sum = ir::index(0);
    for (size_t i = 0; i < chosen.size(); ++i)
      sum = sum + ir::select(chosen[i], all[i], ir::index(0));
    return b.simplify(sum);
  };
  b.output(0, b.reduce(stage_name(b), join, x.dtype(), x.shape(), {of_axis(x.shape())},
                       [&](Point point, Point over) {
                         std::vector<Expr> at;
                         for (size_t i = 0; i < chosen.size(); ++i)
                           at.push_back(ir::select(chosen[i], over[0], point[i]));
                         Expr own = of_axis(point);
                         Expr from = reverse ? own : over[0], to = reverse ? over[0] : own;
                         Expr counts = exclusive ? from < to : from <= to;
                         return ir::select(counts, ir::cast(wide, x.at(at)), neutral);
                       }));
  return {};
}

Result<> running(Builder& b, Builder::Join join) {
  const Tensor& x = b.input(0);
  if (!known_numbers(b, 1)) return running_late(b, join);
  GS_ASSIGN(std::vector<int> axes, axes_from_input(b, 1, x.rank(), false));
  if (axes.size() != 1) return b.error("`axis` must be one number");
  size_t axis = static_cast<size_t>(axes[0]);
  bool exclusive = b.integer("exclusive") != 0, reverse = b.integer("reverse") != 0;
  Type wide = accumulator(x.dtype());
  Expr neutral = ir::constant(wide, join == Builder::Join::sum ? 0 : 1);
  b.output(0, b.reduce(stage_name(b), join, x.dtype(), x.shape(), {x.dim(axes[0])},
                       [&](Point point, Point over) {
                         std::vector<Expr> at(point.begin(), point.end());
                         at[axis] = over[0];
                         Expr from = reverse ? point[axis] : over[0];
                         Expr to = reverse ? over[0] : point[axis];
                         Expr counts = exclusive ? from < to : from <= to;
                         return ir::select(counts, ir::cast(wide, x.at(at)), neutral);
                       }));
  return {};
}

OpDef entry(std::string name, std::string doc, int since, Builder::Join join) {
  auto along = [](int64_t axis) { return std::vector<TensorData>{{}, int64s({}, {axis})}; };
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = since,
          .inputs = {{"x", any_number}, {"axis", integer_index}},
          .outputs = {"y"},
          .attributes = {{"exclusive", 0}, {"reverse", 0}},
          .define = [join](Builder& b) { return running(b, join); },
          .cases = {{.name = "line", .shapes = {{7}}, .inputs = along(0)},
                    {.name = "told by data", .shapes = {{3, 4, 2}, {}}, .low = 0, .high = 2},
                    {.name = "rows", .shapes = {{3, 5}}, .inputs = along(-1)},
                    {.name = "exclusive",
                     .shapes = {{5, 2}},
                     .attributes = {{"exclusive", 1}},
                     .inputs = along(0)},
                    {.name = "reverse",
                     .shapes = {{2, 6}},
                     .attributes = {{"reverse", 1}, {"exclusive", 1}},
                     .inputs = along(1)}}};
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
