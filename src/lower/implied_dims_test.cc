// Which dimensions checks fix.
#include "lower/implied_dims.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/simplify.h"

namespace gossamer::lower {
namespace {

using graph::Graph;
using graph::Value;
using ir::DType;
using ir::Expr;
using stages::StageGraph;

struct ImpliedDims : testing::Test {
  ir::Var batch = ir::var("batch"), room = ir::var("room"), width = ir::var("width");
  StageGraph graph;

  ImpliedDims() {
    graph.inputs = {{"past", ir::buffer("past", DType::f32, {batch, room, width})}};
    graph.dims = {{batch, 0, 0}, {room, 0, 1}, {width, 0, 2}};
    check(Expr(width) == 64.0);
    check(Expr(room) >= 16.0);
    check(Expr(batch) * 2.0 == 4.0 * Expr(room));
  }
  void check(const Expr& condition) { graph.checks.push_back({ir::simplify(condition), ""}); }
  int64_t value_of(const ir::Var& var, bool least) const {
    const ir::VarValues found = implied_dims(graph, least);
    const auto it = found.find(var.get());
    return it == found.end() ? -1 : it->second;
  }
};

TEST_F(ImpliedDims, AreThoseWithOneValue) {
  EXPECT_EQ(value_of(width, false), 64);
  EXPECT_EQ(value_of(room, false), -1);
  EXPECT_EQ(value_of(batch, false), -1);
}

TEST_F(ImpliedDims, OfCachesAreTheLeastOnRequest) {
  EXPECT_EQ(value_of(room, true), 16);
  graph.inputs[0].name = "x";
  EXPECT_EQ(value_of(room, true), -1);
  EXPECT_EQ(value_of(width, true), 64);
}

TEST_F(ImpliedDims, AreNumbersInTheGraph) {
  Graph model;
  Value past;
  past.shape = {batch, room, width};
  model.inputs.push_back(model.add_value(past));
  model.dims = {{batch, 0, 0}, {room, 0, 1}, {width, 0, 2}};
  const Graph fixed = with_dims(model, implied_dims(graph, false));
  EXPECT_TRUE(ir::is_const(fixed.values[fixed.inputs[0]].shape[2], 64));
  EXPECT_EQ(fixed.dims.size(), 2U);
}

}  // namespace
}  // namespace gossamer::lower
