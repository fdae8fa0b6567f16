// Which rows are computed.
#include "stages/narrow_rows.h"

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

// y [1, 4] is the last row of double [n, 4], twice the sums [n, 4] of x [n, 8].
struct NarrowRows : testing::Test {
  ir::Var n = ir::var("n");
  Buffer x = ir::buffer("x", DType::f32, {n, index(8)});
  StageGraph graph;
  Stage sums = sum_of("sums"), twice = map("double", {n, index(4)}),
        last = map("y", {index(1), index(4)});

  NarrowRows() {
    graph.inputs = {{"x", x}};
    graph.dims = {{n, 0, 0}};
    graph.checks = {{ir::simplify(Expr(n) >= 1.0), "there is a row"}};
    twice.result = ir::load(sums.output, {twice.axes[0], twice.axes[1]}) * 2.0;
    last.result = ir::load(twice.output, {Expr(n) - 1.0, last.axes[1]});
    graph.outputs = {{"y", last.output}};
  }
  void run(const std::vector<Stage>& stages, bool windows = false) {
    for (const Stage& stage : stages) graph.program.push_back(stage);
    narrow_rows(graph, windows);
  }
  // y [k, 4] is the last k rows of double.
  void read_last(const ir::Var& k) {
    last = map("y", {k, index(4)});
    last.result = ir::load(twice.output, {Expr(n) - k + last.axes[0], last.axes[1]});
    graph.outputs = {{"y", last.output}};
  }
  static Stage map(const char* name, std::vector<Expr> extents) {
    Stage stage;
    stage.name = name;
    stage.extents = std::move(extents);
    stage.output = ir::buffer(name, DType::f32, stage.extents);
    stage.axes = {ir::var("i"), ir::var("j")};
    return stage;
  }
  Stage sum_of(const char* name) const {
    Stage stage = map(name, {n, index(4)});
    stage.kind = StageKind::reduce;
    stage.reduce_axes = {ir::var("r")};
    stage.reduce_extents = {index(8)};
    const ir::Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
    stage.accumulators = {sum_accumulator(left, right)};
    stage.values = {ir::load(x, {stage.axes[0], stage.reduce_axes[0]})};
    stage.result = left;
    return stage;
  }
  const Stage& at(size_t place) const { return *std::as_const(graph.program[place]).stage(); }
  bool is_narrow(size_t place) const { return ir::is_const(at(place).extents[0], 1); }
};

TEST_F(NarrowRows, OneRowIsComputedOfAllBeforeIt) {
  run({sums, twice, last});
  EXPECT_TRUE(is_narrow(0) && is_narrow(1));
  const auto* load = ir::as<ir::Load>(at(0).values[0]);
  EXPECT_TRUE(ir::prove_equal(load->indices[0], Expr(n) - 1.0));
  EXPECT_TRUE(at(2).output.same(last.output));
}

TEST_F(NarrowRows, RowsThatMayBeMissingStay) {
  graph.checks.clear();
  run({sums, twice, last});
  EXPECT_FALSE(is_narrow(0) || is_narrow(1));
}

TEST_F(NarrowRows, WhatIsAnOutputStays) {
  graph.outputs.push_back({"double", twice.output});
  run({sums, twice, last});
  EXPECT_FALSE(is_narrow(0) || is_narrow(1));
}

TEST_F(NarrowRows, TwoRowsAreAll) {
  last.result = last.result + ir::load(twice.output, {index(0), last.axes[1]});
  run({sums, twice, last});
  EXPECT_FALSE(is_narrow(0) || is_narrow(1));
}

TEST_F(NarrowRows, WindowsAreComputed) {
  const ir::Var k = ir::var("k");
  read_last(k);
  graph.checks.push_back({ir::simplify(Expr(n) >= Expr(k)), "there are k rows"});
  run({sums, twice, last}, true);
  for (size_t place : {0u, 1u}) EXPECT_TRUE(ir::equal(at(place).extents[0], k));
  const auto* load = ir::as<ir::Load>(at(0).values[0]);
  EXPECT_TRUE(ir::prove_equal(load->indices[0], Expr(n) - k + at(0).axes[0]));
  const auto* read = ir::as<ir::Load>(at(2).result);
  EXPECT_TRUE(ir::prove_equal(read->indices[0], at(2).axes[0]));
}

TEST_F(NarrowRows, WindowsThatMayBeMissingStay) {
  read_last(ir::var("k"));
  run({sums, twice, last}, true);
  EXPECT_TRUE(ir::equal(at(0).extents[0], n) && ir::equal(at(1).extents[0], n));
}

TEST_F(NarrowRows, WindowsThatNobodyAsksForStay) {
  const ir::Var k = ir::var("k");
  read_last(k);
  graph.checks.push_back({ir::simplify(Expr(n) >= Expr(k)), "there are k rows"});
  run({sums, twice, last});
  EXPECT_TRUE(ir::equal(at(0).extents[0], n) && ir::equal(at(1).extents[0], n));
}

TEST_F(NarrowRows, ProductsOfOneOperandStayTogether) {
  Stage operand = map("operand", {n, index(8)});
  operand.result = ir::load(x, {operand.axes[0], operand.axes[1]}) + 1.0;
  Stage other = sum_of("other");
  for (Stage* stage : {&sums, &other})
    stage->values = {ir::load(operand.output, {stage->axes[0], stage->reduce_axes[0]})};
  graph.outputs.push_back({"other", other.output});
  run({operand, sums, other, twice, last});
  EXPECT_FALSE(is_narrow(1));
  EXPECT_TRUE(is_narrow(3));
}

}  // namespace
}  // namespace gossamer::stages
