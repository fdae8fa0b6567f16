// Which products become one.
#include "stages/join_products.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::stages {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;

// q [n, 8] and k [n, 4], products of x with bytes and a scale a column, and a map that reads both.
struct JoinProducts : testing::Test {
  ir::Var n = ir::var("n");
  Buffer x = ir::buffer("x", DType::f32, {n, index(64)});
  StageGraph graph;
  Stage q = product("q", 8), k = product("k", 4), reader;

  JoinProducts() {
    graph.inputs = {{"x", x}};
    graph.dims = {{n, 0, 0}};
    reader.name = "reader";
    reader.output = ir::buffer("y", DType::f32, {n, index(4)});
    reader.extents = reader.output->shape;
    reader.axes = {ir::var("i"), ir::var("j")};
    const Expr i = reader.axes[0], j = reader.axes[1];
    reader.result = ir::load(q.output, {i, j + 4.0}) * ir::load(k.output, {i, j});
    graph.outputs = {{"y", reader.output}};
  }
  void run() {
    for (const Stage& stage : {q, k, reader}) graph.program.push_back(stage);
    join_products(graph);
  }
  Stage product(const char* name, int64_t columns) {
    const Buffer bytes = ir::buffer(cat(name, ".w"), DType::u8, {index(columns), index(64)});
    const Buffer scales = ir::buffer(cat(name, ".s"), DType::f32, {index(columns)});
    for (const Buffer& constant : {bytes, scales})
      graph.constants.push_back({constant->name, constant, {}});
    Stage stage;
    stage.kind = StageKind::reduce;
    stage.name = name;
    stage.output = ir::buffer(name, DType::f32, {n, index(columns)});
    stage.axes = {ir::var("i"), ir::var("j")};
    stage.extents = stage.output->shape;
    stage.reduce_axes = {ir::var("r")};
    stage.reduce_extents = {index(64)};
    const ir::Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
    stage.accumulators = {sum_accumulator(left, right)};
    const Expr i = stage.axes[0], j = stage.axes[1], r = stage.reduce_axes[0];
    stage.values = {ir::load(x, {i, r}) *
                    (ir::cast(DType::f32, ir::load(bytes, {j, r})) * ir::load(scales, {j}))};
    stage.result = left;
    return stage;
  }
  const Stage& at(size_t place) const { return *graph.program[place].stage(); }
};

TEST_F(JoinProducts, OneProductHasTheColumnsOfBoth) {
  run();
  ASSERT_EQ(graph.program.size(), 4u);  // two constants, the product, the reader
  EXPECT_TRUE(ir::is_const(at(0).output->shape[0], 12));
  EXPECT_TRUE(ir::is_const(at(1).output->shape[0], 12));
  EXPECT_TRUE(ir::is_const(at(2).extents[1], 12));
  std::vector<std::string> places;
  ir::visit(at(3).result, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    if (!load) return true;
    EXPECT_TRUE(load->buffer.same(at(2).output));
    const Expr begin = ir::simplify(load->indices[1] - Expr(at(3).axes[1]));
    places.push_back(cat(ir::as_int(begin).value_or(-1)));
    return true;
  });
  EXPECT_EQ(places, (std::vector<std::string>{"4", "8"}));
}

TEST_F(JoinProducts, WhatLeavesTheModelStays) {
  graph.outputs.push_back({"q", q.output});
  run();
  EXPECT_EQ(graph.program.size(), 3u);
}

TEST_F(JoinProducts, SumsWithoutColumnsStay) {
  k.output = ir::buffer("k", DType::f32, {});
  k.axes = {};
  k.extents = {};
  k.values = {
      ir::cast(DType::f32, ir::load(graph.constants[2].buffer, {index(0), k.reduce_axes[0]}))};
  reader.result = ir::load(k.output, {});
  run();
  EXPECT_EQ(graph.program.size(), 3u);
}

TEST_F(JoinProducts, OtherResultsStay) {
  k.result = Expr(k.accumulators[0].left) * 2.0;
  run();
  EXPECT_EQ(graph.program.size(), 3u);
}

}  // namespace
}  // namespace gossamer::stages
