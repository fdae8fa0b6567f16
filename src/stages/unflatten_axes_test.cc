// Reductions over what a reshape made one axis.
#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "stages/stage_graph.h"

namespace gossamer::stages {
namespace {

using ir::Expr;
using ir::index;

// The extents of the reduction of a[i * 4 + r // (h * w), r // w % h, r % w] over r < 4 * h * w,
// and what it then reads; `also`: a factor.
std::string unflattened(const Expr& h, const Expr& w, bool known, const Expr& also = Expr()) {
  const ir::Buffer a = ir::buffer("a", ir::DType::f32, {index(8), h, w});
  const ir::Var i = ir::var("i"), r = ir::var("r");
  Stage stage;
  stage.kind = StageKind::reduce;
  stage.output = ir::buffer("sums", ir::DType::f32, {index(2)});
  stage.axes = {i};
  stage.extents = {index(2)};
  stage.reduce_axes = {r};
  stage.reduce_extents = {ir::simplify(h * w * index(4))};
  const Expr read = ir::load(a, {i * index(4) + ir::floordiv(r, h * w),
                                 ir::floormod(ir::floordiv(r, w), h), ir::floormod(r, w)});
  stage.values = {also.get()
                      ? read * ir::load(ir::buffer("b", ir::DType::f32, {h * w * index(4)}), {r})
                      : read};
  const ir::Var left = ir::var("left", ir::DType::f32), right = ir::var("right", ir::DType::f32);
  stage.accumulators = {sum_accumulator(left, right)};
  stage.result = left;
  StageGraph graph;
  graph.program.push_back(stage);
  unflatten_axes(graph, known);
  std::string text;
  for (const Expr& extent : graph.program[0].stage()->reduce_extents)
    text += ir::print(extent) + " ";
  return text + ir::print(graph.program[0].stage()->values[0]);
}

TEST(UnflattenAxes, GiveEachPartALoop) {
  const ir::Var h = ir::var("h"), w = ir::var("w");
  EXPECT_EQ(unflattened(h, w, false), "4 h w a[i * 4 + r.part, r.part_1, r]");
  // As a concatenation of halves has them.
  const Expr rows = ir::floordiv(h, 2) * index(2) + index(2);
  EXPECT_TRUE(unflattened(rows, w, false).starts_with("4 h // 2 * 2 + 2 w a["));
}

TEST(UnflattenAxes, LeaveKnownAxesToWhoAsks) {
  EXPECT_EQ(unflattened(index(5), index(7), true), "4 5 7 a[i * 4 + r.part, r.part_1, r]");
  EXPECT_TRUE(unflattened(index(5), index(7), false).starts_with("140 a["));
  // What walks the axis whole would gain a product.
  EXPECT_TRUE(unflattened(index(5), index(7), true, index(1)).starts_with("140 "));
}

}  // namespace
}  // namespace gossamer::stages
