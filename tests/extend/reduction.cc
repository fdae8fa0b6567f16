// A reduction that keeps two accumulators, over axes that an input names.
#include <algorithm>

#include "extend/entries.h"
#include "ops/axes.h"
#include "ops/elementwise.h"

namespace gossamer::extend {
namespace {

using ir::Expr;
using ops::Point;

// (most, least) of what was seen.
stages::Accumulators extremes(ir::Type type) {
  ir::Var most = ir::var("most", type), least = ir::var("least", type);
  ir::Var other_most = ir::var("other_most", type), other_least = ir::var("other_least", type);
  return {{most, other_most, ir::max(most, other_most), ir::lowest(type)},
          {least, other_least, ir::min(least, other_least), ir::highest(type)}};
}

Result<> define(ops::Builder& b) {
  const ops::Tensor& x = b.input(0);
  GS_ASSIGN(const std::vector<int> axes, ops::axes_from_input(b, 1, x.rank(), true));
  const bool keep = b.integer("keepdims") != 0;
  const auto reduced = [&](int axis) { return std::ranges::binary_search(axes, axis); };
  ops::Shape shape, extents;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (reduced(axis)) extents.push_back(x.dim(axis));
    if (!reduced(axis)) shape.push_back(x.dim(axis));
    if (reduced(axis) && keep) shape.push_back(ir::index(1));
  }
  b.output(0, b.reduce(
                  ops::stage_name(b), extremes(x.dtype()), x.dtype(), shape, extents,
                  [&](Point out, Point over) {
                    std::vector<Expr> at;
                    size_t next = 0, next_over = 0;
                    for (int axis = 0; axis < x.rank(); ++axis) {
                      if (reduced(axis) && keep) ++next;
                      at.push_back(reduced(axis) ? over[next_over++] : out[next++]);
                    }
                    return std::vector<Expr>{x.at(at), x.at(at)};
                  },
                  [](Point, std::span<const ir::Var> both) { return both[0] - both[1]; }));
  return {};
}

}  // namespace

ops::OpDef peak_to_peak() {
  return {
      .name = "PeakToPeak",
      .doc = "The largest element less the smallest one, over axes.",
      .domain = std::string(domain),
      .since = 1,
      .inputs = {{"data", ops::any_float}, {"axes", ops::integer_index, ops::InputDef::optional}},
      .attributes = {{"keepdims", 1}},
      .define = define,
      .cases = [] -> ops::Cases {
        return {
            {.name = "all", .shapes = {{2, 3, 5}}},
            {.name = "last", .shapes = {{4, 9}}, .inputs = {{}, ops::int64s({1}, {-1})}},
            {.name = "first",
             .shapes = {{7, 6}},
             .attributes = {{"keepdims", 0}},
             .inputs = {{}, ops::int64s({1}, {0})}},
            {.name = "two", .shapes = {{2, 5, 3, 4}}, .inputs = {{}, ops::int64s({2}, {1, 3})}}};
      }};
}

}  // namespace gossamer::extend
