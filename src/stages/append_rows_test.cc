// What becomes a state that grows by rows, and what stays a copy.
#include "stages/append_rows.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "stages/step.h"

namespace gossamer::stages {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;

// past [2, p, 3] and rows [2, n, 3], joined along the middle axis; twice: all of it, doubled.
struct AppendRows : testing::Test {
  ir::Var p = ir::var("p"), n = ir::var("n");
  Buffer past = ir::buffer("past", DType::f32, {index(2), p, index(3)});
  Buffer rows = ir::buffer("rows", DType::f32, {index(2), n, index(3)});
  Buffer present = ir::buffer("present", DType::f32, {index(2), Expr(p) + n, index(3)});
  Buffer twice = ir::buffer("twice", DType::f32, present->shape);
  StageGraph graph;

  AppendRows() {
    graph.inputs = {{"past", past}, {"rows", rows}};
    graph.dims = {{p, 0, 1}, {n, 1, 1}};
    Stage join = stage_of(present);
    const Expr i = join.axes[0], j = join.axes[1], k = join.axes[2];
    join.result = ir::select(j < p, ir::load(past, {i, j, k}), ir::load(rows, {i, j - p, k}));
    Stage reader = stage_of(twice);
    reader.result = 2.0 * ir::load(present, {reader.axes[0], reader.axes[1], reader.axes[2]});
    graph.program.push_back(join);
    graph.program.push_back(reader);
    graph.outputs = {{"twice", twice}, {"present", present}};
  }
  static Stage stage_of(const Buffer& output) {
    Stage stage;
    stage.name = output->name;
    stage.output = output;
    stage.extents = output->shape;
    for (const char* axis : {"i", "j", "k"}) stage.axes.push_back(ir::var(axis));
    return stage;
  }
  Stage& join() { return *graph.program[0].stage(); }
  Stage& reader() { return *graph.program[1].stage(); }
  // Nothing is changed.
  void expect_copy() {
    const std::string before = print(graph);
    append_rows(graph);
    EXPECT_EQ(print(graph), before);
    EXPECT_EQ(graph.dims.size(), 2u);
    EXPECT_TRUE(join().kind == StageKind::compute);
  }
};

// Rows that begin where data says, as their stage declares, and what they alone are computed from.
TEST_F(AppendRows, DeclaredRowsTakeTheirProducersWithThem) {
  const Buffer begin = ir::buffer("begin", DType::i32, {index(1)});
  const Buffer turned = ir::buffer("turned", DType::f32, rows->shape);
  graph.inputs.push_back({"begin", begin});
  Stage turn = stage_of(turned);
  turn.result = 2.0 * ir::load(rows, {turn.axes[0], turn.axes[1], turn.axes[2]});
  Stage& growing = join();
  const Expr i = growing.axes[0], j = growing.axes[1], k = growing.axes[2];
  const Expr first = ir::cast(DType::index, ir::load(begin, {index(0)}));
  growing.result = ir::select(
      j < first, ir::load(past, {i, j, k}),
      ir::select(j - first < n, ir::load(turned, {i, j - first, k}), ir::zero(DType::f32)));
  growing.along = 1;
  growing.first = first;
  growing.count = n;
  growing.fresh = ir::load(turned, {i, j, k});
  graph.program.insert(graph.program.begin(), turn);
  append_rows(graph, true);
  const Stage& made = *graph.program[1].stage();
  ASSERT_TRUE(made.kind == StageKind::scatter);
  EXPECT_TRUE(ir::prove_equal(made.extents[1], n));
  EXPECT_TRUE(ir::equal(made.target[1], Expr(made.axes[1]) + first));
  bool reads_turned = false, reads_rows = false;
  for (const Buffer& input : inputs_of(made)) {
    reads_turned |= input.same(turned);
    reads_rows |= input.same(rows);
  }
  EXPECT_FALSE(reads_turned);
  EXPECT_TRUE(reads_rows);
}

TEST_F(AppendRows, InputAndOutputAreOneTensorWithRoom) {
  append_rows(graph);
  const Buffer state = graph.inputs[0].buffer;
  EXPECT_TRUE(graph.outputs[1].buffer.same(state));
  EXPECT_FALSE(graph.outputs[0].buffer.same(state));
  EXPECT_FALSE(state.same(past));
  // Its room is a dimension of its own, at least the rows after a run.
  ASSERT_EQ(graph.dims.size(), 3u);
  const Dim& room = graph.dims[2];
  EXPECT_EQ(room.input, 0);
  EXPECT_EQ(room.axis, 1);
  EXPECT_EQ(room.output, 1);
  EXPECT_TRUE(ir::prove_equal(room.rows, Expr(p) + n));
  ASSERT_EQ(state->shape.size(), 3u);
  EXPECT_EQ(state->shape[1].get(), Expr(room.var).get());
  EXPECT_TRUE(ir::is_const(state->shape[0], 2));
  EXPECT_TRUE(ir::is_const(state->shape[2], 3));
  // Users see what they saw.
  EXPECT_TRUE(ir::prove_equal(graph.inputs[0].shape[1], p));
  EXPECT_TRUE(ir::prove_equal(graph.outputs[1].shape[1], Expr(p) + n));
}

TEST_F(AppendRows, OnlyNewRowsAreWrittenBehindTheOthers) {
  append_rows(graph);
  const Stage& stage = join();
  EXPECT_TRUE(stage.kind == StageKind::scatter);
  EXPECT_TRUE(stage.output.same(graph.inputs[0].buffer));
  EXPECT_TRUE(ir::prove_equal(stage.extents[1], n));
  ASSERT_EQ(stage.target.size(), 3u);
  EXPECT_EQ(stage.target[0].get(), Expr(stage.axes[0]).get());
  EXPECT_TRUE(ir::prove_equal(stage.target[1], Expr(stage.axes[1]) + p));
  EXPECT_EQ(stage.target[2].get(), Expr(stage.axes[2]).get());
  // The row that stands at p + j is the new one of number j, and nothing of the past is read.
  ASSERT_EQ(stage.values.size(), 1u);
  const auto* load = ir::as<ir::Load>(stage.values[0]);
  ASSERT_NE(load, nullptr);
  EXPECT_TRUE(load->buffer.same(rows));
  EXPECT_TRUE(ir::prove_equal(load->indices[1], stage.axes[1]));
}

TEST_F(AppendRows, WhatReadsTheCacheReadsTheState) {
  append_rows(graph);
  const Stage& stage = reader();
  EXPECT_TRUE(ir::prove_equal(stage.extents[1], Expr(p) + n));
  int loads = 0;
  ir::visit(stage.result, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    if (!load) return true;
    ++loads;
    EXPECT_TRUE(load->buffer.same(graph.inputs[0].buffer));
    return true;
  });
  EXPECT_EQ(loads, 1);
}

TEST_F(AppendRows, AnInputOfAKnownLengthIsCopied) {
  past = ir::buffer("past", DType::f32, {index(2), index(4), index(3)});
  graph.inputs[0].buffer = past;
  const Expr i = join().axes[0], j = join().axes[1], k = join().axes[2];
  join().result =
      ir::select(j < index(4), ir::load(past, {i, j, k}), ir::load(rows, {i, j - index(4), k}));
  expect_copy();
}

TEST_F(AppendRows, WhatIsNoOutputIsCopied) {
  graph.outputs.pop_back();
  expect_copy();
}

TEST_F(AppendRows, WhatTwoOutputsGiveIsCopied) {
  graph.outputs.push_back({"again", present});
  expect_copy();
}

TEST_F(AppendRows, APastThatIsAnOutputIsCopied) {
  graph.outputs.push_back({"before", past});
  expect_copy();
}

// Whatever it is called: the other one is what is new.
TEST_F(AppendRows, TheInputInFrontIsTheState) {
  const Expr i = join().axes[0], j = join().axes[1], k = join().axes[2];
  join().result = ir::select(j < n, ir::load(rows, {i, j, k}), ir::load(past, {i, j - n, k}));
  append_rows(graph);
  EXPECT_TRUE(graph.outputs[1].buffer.same(graph.inputs[1].buffer));
  EXPECT_TRUE(graph.inputs[0].buffer.same(past));
  EXPECT_TRUE(ir::prove_equal(join().extents[1], p));
}

TEST_F(AppendRows, AShorterPastIsCopied) {
  const Expr i = join().axes[0], j = join().axes[1], k = join().axes[2];
  join().result =
      ir::select(j < Expr(p) - index(1), ir::load(past, {i, j, k}), ir::load(rows, {i, j - p, k}));
  expect_copy();
}

TEST_F(AppendRows, APastThatIsTurnedIsCopied) {
  const Expr i = join().axes[0], j = join().axes[1], k = join().axes[2];
  join().result = ir::select(j < p, ir::load(past, {i, Expr(p) - index(1) - j, k}),
                             ir::load(rows, {i, j - p, k}));
  expect_copy();
}

TEST_F(AppendRows, NewRowsThatReadThePastAreCopied) {
  const Expr i = join().axes[0], j = join().axes[1], k = join().axes[2];
  join().result = ir::select(j < p, ir::load(past, {i, j, k}),
                             ir::load(rows, {i, j - p, k}) + ir::load(past, {i, index(0), k}));
  expect_copy();
}

TEST_F(AppendRows, OtherExtentsAreCopied) {
  join().extents[0] = index(1);
  expect_copy();
}

TEST_F(AppendRows, StringsAreCopied) {
  graph.inputs[0].strings = true;
  expect_copy();
}

TEST_F(AppendRows, ProgramsWithStepsStayAsTheyAre) {
  graph.program.push_back(check_step(index(1), "never"));
  expect_copy();
}

// Each of several caches has a room of its own.
TEST_F(AppendRows, SeveralStatesHaveRoomsOfTheirOwn) {
  const Buffer more = ir::buffer("more", DType::f32, past->shape);
  const Buffer longer = ir::buffer("longer", DType::f32, present->shape);
  graph.inputs.push_back({"more", more});
  Stage stage = stage_of(longer);
  const Expr i = stage.axes[0], j = stage.axes[1], k = stage.axes[2];
  stage.result = ir::select(j < p, ir::load(more, {i, j, k}), ir::load(rows, {i, j - p, k}));
  graph.program.push_back(stage);
  graph.outputs.push_back({"longer", longer});
  append_rows(graph);
  ASSERT_EQ(graph.dims.size(), 4u);
  EXPECT_NE(graph.inputs[0].buffer->shape[1].get(), graph.inputs[2].buffer->shape[1].get());
  EXPECT_EQ(graph.dims[3].input, 2);
  EXPECT_EQ(graph.dims[3].output, 2);
}

}  // namespace
}  // namespace gossamer::stages
