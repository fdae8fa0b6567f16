#include "stages/binary_search.h"

#include "ir/build.h"

namespace gossamer::stages {

void search_in(Stage& stage, Expr first, Expr last, int64_t longest,
               const std::function<Expr(const Expr& place)>& holds) {
  int steps = 1;
  while (steps < 32 && (longest < 0 || longest >> steps > 0)) ++steps;
  stage.kind = StageKind::reduce;
  stage.in_order = true;
  stage.reduce_axes = {ir::var("step")};
  stage.reduce_extents = {ir::index(steps)};
  const Var low = ir::var("low"), high = ir::var("high");
  const Var left = ir::var("next_low"), right = ir::var("next_high");
  stage.accumulators = {{low, left, left, ir::index(0)}, {high, right, right, ir::index(0)}};
  const Expr middle = ir::floordiv(Expr(low) + Expr(high), ir::index(2));
  const Expr found = holds(middle), open = low < high;
  stage.values = {ir::select(open && !found, middle + ir::index(1), low),
                  ir::select(open && found, middle, high)};
  stage.starts = {std::move(first), std::move(last)};
}

}  // namespace gossamer::stages
