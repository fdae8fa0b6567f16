#include "stages/place_on_side.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::stages {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;

Buffer tensor(const char* name, DType dtype = DType::f32) {
  return ir::buffer(name, dtype, {ir::index(8)});
}

// output[i] = value(i)
template <class Value>
Stage stage(const Buffer& output, const Value& value) {
  Stage made;
  made.name = output->name;
  made.output = output;
  made.axes = {ir::var("i")};
  made.extents = output->shape;
  made.result = value(made.axes[0]);
  return made;
}

// One line a stage: "a", "b on side", "a -> a.side".
std::string outline(const StageGraph& graph) {
  std::string text;
  for (const Entry& entry : graph.program) {
    text += text.empty() ? "" : ", ";
    if (entry.is(StepKind::copy))
      text += cat(entry.step()->from->name, " -> ", entry.step()->to->name);
    else if (const Stage* one = entry.stage())
      text += cat(one->output->name, one->side.empty() ? "" : " on side");
    else
      text += "step";
  }
  return text;
}

struct Doubles : testing::Test {
  Buffer x = tensor("x"), a = tensor("a"), b = tensor("b", DType::f64), y = tensor("y"),
         z = tensor("z");
  StageGraph graph;

  Stage twice(const Buffer& from, const Buffer& to) {
    return stage(to, [&](const Expr& i) { return ir::load(from, {i}) * 2.0f; });
  }
  Stage convert(const Buffer& from, const Buffer& to) {
    return stage(to, [&](const Expr& i) { return ir::cast(to->dtype, ir::load(from, {i})); });
  }
};

TEST_F(Doubles, CopiesCrossTheBorder) {
  graph.inputs = {{"x", x}};
  graph.outputs = {{"z", z}};
  graph.program = {twice(x, a), convert(a, b), convert(b, y), twice(y, z)};
  place_on_side(graph);
  EXPECT_EQ(outline(graph), "a, a -> a.side, b on side, y.side on side, y.side -> y, z");
  EXPECT_TRUE(graph.side.contains(b.get()));
  EXPECT_FALSE(graph.side.contains(a.get()));
  EXPECT_EQ(graph.side.size(), 3u);
}

TEST_F(Doubles, WhatOnlyTheSideTouchesLiesThere) {
  graph.inputs = {{"x", x}};
  graph.outputs = {{"y", y}};
  graph.program = {convert(x, b), convert(b, y)};
  place_on_side(graph);
  EXPECT_EQ(outline(graph), "b on side, y on side");
  EXPECT_EQ(graph.side.size(), 3u);
}

TEST_F(Doubles, AnInputThatBothReadIsCopiedOnce) {
  const Buffer c = tensor("c", DType::f64);
  graph.inputs = {{"x", x}};
  graph.outputs = {{"b", b}, {"c", c}, {"a", a}};
  graph.program = {twice(x, a), convert(x, b), convert(x, c)};
  place_on_side(graph);
  EXPECT_EQ(outline(graph), "x -> x.side, a, b on side, c on side");
}

// A single-precision state that a stage of the side changes: all that touch it move.
TEST_F(Doubles, AStateMovesAsAWhole) {
  graph.inputs = {{"x", x}};
  graph.outputs = {{"z", z}};
  graph.program = {twice(x, a),   convert(x, b), loop_step(ir::var("round"), ir::index(3)),
                   convert(b, a), end_step(),    twice(a, z)};
  place_on_side(graph);
  EXPECT_EQ(outline(graph), "a on side, b on side, step, a on side, step, z on side");
}

TEST_F(Doubles, MoreBuffersThanAKernelMayHave) {
  const auto sum = [&] {
    return stage(y, [&](const Expr& i) {
      return ir::load(x, {i}) + ir::load(a, {i}) * ir::load(a, {i}) + ir::load(z, {i});
    });
  };
  graph.inputs = {{"x", x}, {"z", z}};
  graph.outputs = {{"y", y}};
  graph.program = {twice(x, a), sum()};
  place_on_side(graph, 4);
  EXPECT_EQ(outline(graph), "a, y");
  place_on_side(graph, 3);
  EXPECT_EQ(outline(graph), "x -> x.side, a, a -> a.side, y on side");
}

// All that it touches is the target's, too.
TEST_F(Doubles, MoreBuffersBetweenTwoStages) {
  graph.inputs = {{"x", x}};
  graph.outputs = {{"z", z}};
  graph.program = {twice(x, a),
                   stage(y, [&](const Expr& i) { return ir::load(x, {i}) + ir::load(a, {i}); }),
                   twice(y, z)};
  place_on_side(graph, 2);
  EXPECT_EQ(outline(graph), "x -> x.side, a, a -> a.side, y.side on side, y.side -> y, z");
}

TEST_F(Doubles, SinglePrecisionStaysWhereItIs) {
  graph.inputs = {{"x", x}};
  graph.outputs = {{"z", z}};
  graph.program = {twice(x, a), twice(a, z)};
  place_on_side(graph);
  EXPECT_EQ(outline(graph), "a, z");
  EXPECT_TRUE(graph.side.empty());
}

}  // namespace
}  // namespace gossamer::stages
