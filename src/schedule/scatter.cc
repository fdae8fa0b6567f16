#include "schedule/scatter.h"

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::schedule {

using ir::Expr;
using ir::Var;

ops::Stage gather_form(const ops::Stage& scatter) {
  ops::Stage gather;
  gather.kind = ops::StageKind::reduce;
  gather.name = scatter.name;
  gather.origin = scatter.origin;
  gather.output = scatter.output;
  gather.extents = scatter.output->shape;
  std::vector<Expr> point;
  for (size_t d = 0; d < gather.extents.size(); ++d) {
    gather.axes.push_back(ir::var("p" + std::to_string(d)));
    point.push_back(gather.axes.back());
  }
  gather.reduce_axes = scatter.axes;
  gather.reduce_extents = scatter.extents;
  Expr aims = ir::boolean(true);
  for (size_t d = 0; d < point.size(); ++d) aims = aims && scatter.target[d] == point[d];
  if (scatter.condition) aims = aims && scatter.condition;
  const Expr start = ir::load(scatter.initial, point);
  ops::Combiner& combiner = gather.combiner;
  if (!scatter.combiner.left.empty()) {
    combiner = scatter.combiner;
    const Expr& identity = combiner.identity[0];
    gather.values = {ir::select(aims, scatter.values[0], identity)};
    gather.result = ir::substitute(
        combiner.joined[0],
        {{combiner.left[0].get(), start}, {combiner.right[0].get(), combiner.left[0]}});
    return gather;
  }
  // Without a join the last update stands: accumulators (found, value).
  const ir::Type type = scatter.values[0]->type, flag = ir::DType::i32;
  combiner.left = {ir::var("found", flag), ir::var("value", type)};
  combiner.right = {ir::var("found", flag), ir::var("value", type)};
  const Expr later = combiner.right[0] != 0.0;
  combiner.joined = {ir::max(combiner.left[0], combiner.right[0]),
                     ir::select(later, combiner.right[1], combiner.left[1])};
  combiner.identity = {ir::zero(flag), ir::zero(type)};
  gather.values = {ir::select(aims, ir::constant_int(flag, 1), ir::zero(flag)), scatter.values[0]};
  gather.result = ir::select(combiner.left[0] != 0.0, combiner.left[1], start);
  return gather;
}

}  // namespace gossamer::schedule
