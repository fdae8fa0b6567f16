#include "lower/implied_dims.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::lower {

using graph::Graph;
using graph::Value;
using stages::Check;
using stages::Dim;
using stages::StageGraph;
using stages::StageInput;

ir::VarValues implied_dims(const StageGraph& graph, bool least) {
  ir::VarValues implied;
  for (const Dim& dim : graph.dims) {
    if (dim.input < 0 || dim.output >= 0) continue;
    const StageInput& input = graph.inputs[static_cast<size_t>(dim.input)];
    if (input.strings) continue;
    const bool cache = least && input.name.starts_with("past");
    for (const Check& check : graph.checks) {
      const auto* compared = ir::as<ir::Binary>(check.condition);
      if (!compared || compared->a.get() != dim.var.get()) continue;
      const auto number = ir::as_int(compared->b);
      if (!number || *number < 0) continue;
      const bool is = compared->op == ir::BinaryOp::eq,
                 from = cache && compared->op == ir::BinaryOp::ge && *number > 0;
      if (is || from) {
        int64_t& value = implied.try_emplace(dim.var.get(), *number).first->second;
        value = std::max(value, *number);
      }
    }
  }
  return implied;
}

Graph with_dims(Graph graph, const ir::VarValues& dims) {
  ir::VarMap values;
  for (const auto& [var, number] : dims) values[var] = ir::index(number);
  for (Value& value : graph.values)
    for (ir::Expr& extent : value.shape) extent = ir::simplify(ir::substitute(extent, values));
  std::erase_if(graph.dims, [&](const Dim& dim) { return dims.contains(dim.var.get()); });
  return graph;
}

}  // namespace gossamer::lower
