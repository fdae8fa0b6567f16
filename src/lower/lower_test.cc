#include <gtest/gtest.h>

#include "interp/fold_constants.h"
#include "ir/build.h"
#include "lower/lower.h"
#include "ops/builder.h"
#include "stages/stage_graph.h"

namespace gossamer::lower {
namespace {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;
using ir::DType;
using ops::Builder;
using ops::Point;
using stages::ConstantSource;
using stages::StageGraph;

ops::OpDef entry(std::string name, std::vector<ops::InputDef> inputs,
                 std::function<Result<>(Builder&)> define) {
  ops::OpDef def;
  def.name = std::move(name);
  def.inputs = std::move(inputs);
  def.outputs = {"y"};
  def.define = std::move(define);
  return def;
}

template <int axis>
Result<> running_sum(Builder& b) {
  const ops::Tensor& x = b.input(0);
  b.output(0, b.scan("running", Builder::Join::sum, x.dtype(), x.shape(), axis,
                     [&](Point p) { return x.at(p); }));
  return {};
}

// Operators of this test, so that it says nothing about the built-in ones.
const ops::Catalog& catalog() {
  static const ops::Catalog value({
      entry("Double", {{"x", ops::any_type}},
            [](Builder& b) -> Result<> {
              const ops::Tensor& x = b.input(0);
              b.output(0, b.compute("double", x.dtype(), x.shape(),
                                    [&](Point p) { return x.at(p) + x.at(p); }));
              return {};
            }),
      entry("Total", {{"x", ops::any_type}},
            [](Builder& b) -> Result<> {
              const ops::Tensor& x = b.input(0);
              b.output(0, b.reduce("total", Builder::Join::sum, x.dtype(), {}, x.shape(),
                                   [&](Point, Point r) { return x.at(r); }));
              return {};
            }),
      entry("Extent", {{"x", ops::any_type}},
            [](Builder& b) -> Result<> {
              b.output(0, b.host_tensor(DType::i64, {ir::index(1)}, {b.input(0).dim(0)}));
              return {};
            }),
      entry("Resized", {{"x", ops::any_type}, {"extent", ops::integer_index}},
            [](Builder& b) -> Result<> {
              GS_ASSIGN(auto extent, b.host(1));
              const ops::Tensor& x = b.input(0);
              b.output(0, b.compute("resized", x.dtype(), {extent[0]},
                                    [&](Point p) { return x({ir::min(p[0], x.dim(0) - 1.0)}); }));
              return {};
            }),
      entry("Same", {{"x", ops::any_type}},
            [](Builder& b) -> Result<> {
              b.output(0, b.reshape("same", b.input(0), b.input(0).shape()));
              return {};
            }),
      entry("RunningRows", {{"x", ops::any_type}}, running_sum<0>),
      entry("RunningColumns", {{"x", ops::any_type}}, running_sum<1>),
      entry("Broken", {{"x", ops::any_type}},
            [](Builder& b) -> Result<> { return b.error("does not work", "use another"); }),
  });
  return value;
}

struct Lowered : testing::Test {
  Graph graph;

  ValueId input(std::vector<ir::Expr> shape) {
    graph.inputs.push_back(graph.add_value(
        {.name = "x", .shape = std::move(shape), .shape_known = true, .constant = {}}));
    return graph.inputs.back();
  }
  ValueId constant(std::vector<int64_t> values) {
    ConstantSource source;
    source.dtype = DType::i64;
    source.shape = {static_cast<int64_t>(values.size())};
    source.bytes = ops::int64s(source.shape, values).bytes;
    Value value;
    value.name = "k";
    value.dtype = DType::i64;
    value.constant = std::move(source);
    return graph.add_value(std::move(value));
  }
  ValueId node(const char* op, std::vector<ValueId> inputs, const char* name) {
    Value value;
    value.name = cat(name, ".out");
    ValueId output = graph.add_value(std::move(value));
    Node made;
    made.def = catalog().find("", op);
    made.name = name;
    made.inputs = std::move(inputs);
    made.outputs = {output};
    graph.nodes.push_back(std::move(made));
    return output;
  }
  StageGraph lowered(std::vector<ValueId> outputs) {
    graph.outputs = std::move(outputs);
    auto result = lower(graph, catalog());
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().to_string());
    return result ? std::move(*result) : StageGraph();
  }
};

TEST_F(Lowered, NamesBuffersAndOrigins) {
  ValueId x = input({ir::index(4)});
  StageGraph stages = lowered({node("Total", {node("Double", {x}, "a")}, "a")});
  ASSERT_EQ(stages.program.size(), 2u);
  EXPECT_EQ(stages.program[0].stage()->origin, "Double \"a\"");
  EXPECT_EQ(stages.program[1].stage()->origin, "Total \"a\"");
  EXPECT_EQ(stages.program[0].stage()->output->name, "a.out");
  EXPECT_TRUE(stages.outputs[0].buffer.same(stages.program[1].stage()->output));
}

TEST_F(Lowered, HostValuesMakeShapesAndNoStages) {
  ir::Var n = ir::var("n");
  ValueId x = input({n});
  graph.dims.push_back({n, 0, 0});
  ValueId twice = node("Double", {node("Extent", {x}, "extent")}, "twice");
  StageGraph stages = lowered({node("Resized", {x, twice}, "big")});
  ASSERT_EQ(stages.program.size(), 1u);
  EXPECT_TRUE(ir::prove_equal(stages.program[0].stage()->extents[0], ir::Expr(n) * 2.0));
}

TEST_F(Lowered, KnownElementsBecomeConstants) {
  ValueId x = input({ir::index(4)});
  (void)x;
  StageGraph stages = lowered({node("Double", {constant({3, 4})}, "d")});
  EXPECT_TRUE(stages.program.empty());
  ASSERT_EQ(stages.constants.size(), 1u);
  EXPECT_EQ(stages.constants[0].source.bytes, ops::int64s({2}, {6, 8}).bytes);
}

TEST_F(Lowered, OutputsMayBeInputs) {
  ValueId x = input({ir::index(4)});
  StageGraph stages = lowered({x, node("Same", {x}, "s")});
  EXPECT_TRUE(stages.program.empty());
  EXPECT_TRUE(stages.outputs[1].buffer.same(stages.inputs[0].buffer));
}

TEST_F(Lowered, DuplicatesAndDeadStagesGo) {
  ValueId x = input({ir::index(4)});
  ValueId a = node("Double", {x}, "a"), b = node("Double", {x}, "b");
  node("Total", {a}, "dead");
  ValueId c = node("Total", {node("Double", {a}, "aa")}, "c");
  ValueId d = node("Total", {node("Double", {b}, "bb")}, "d");
  StageGraph stages = lowered({c, d});
  EXPECT_EQ(stages.program.size(), 6u);
  merge_duplicates(stages);
  EXPECT_EQ(stages.program.size(), 3u);
  EXPECT_TRUE(stages.outputs[0].buffer.same(stages.outputs[1].buffer));
}

TEST_F(Lowered, ScansAlongOneAxisAreDuplicates) {
  ValueId x = input({ir::index(4), ir::index(4)});
  StageGraph stages = lowered({node("RunningRows", {x}, "a"), node("RunningRows", {x}, "b"),
                               node("RunningColumns", {x}, "c")});
  merge_duplicates(stages);
  EXPECT_EQ(stages.program.size(), 2u);
  EXPECT_TRUE(stages.outputs[0].buffer.same(stages.outputs[1].buffer));
  EXPECT_FALSE(stages.outputs[0].buffer.same(stages.outputs[2].buffer));
}

TEST_F(Lowered, SmallConstantsFold) {
  ValueId bytes = constant({1, 2, 3});
  // u8 is no host type, so that the stage itself must be evaluated.
  Value& value = graph.values[bytes];
  value.dtype = value.constant->dtype = DType::u8;
  value.constant->bytes = {std::byte{1}, std::byte{2}, std::byte{200}};
  StageGraph stages = lowered({node("Total", {node("Double", {bytes}, "d")}, "t")});
  EXPECT_EQ(stages.program.size(), 2u);
  interp::fold_constants(stages);
  EXPECT_TRUE(stages.program.empty());
  ASSERT_EQ(stages.constants.size(), 1u);
  EXPECT_EQ(stages.constants[0].source.bytes, std::vector{std::byte{150}});  // 406 - 256
}

TEST_F(Lowered, ErrorsNameTheNode) {
  ValueId x = input({ir::index(4)});
  graph.outputs = {node("Broken", {x}, "layer.7")};
  auto result = lower(graph, catalog());
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().to_string().find("[Broken] \"layer.7\": does not work"),
            std::string::npos);
  graph.nodes.clear();
  graph.outputs = {node("Resized", {x, constant({int64_t{1} << 50})}, "huge")};
  result = lower(graph, catalog());
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().to_string().find("too large"), std::string::npos);
}

}  // namespace
}  // namespace gossamer::lower
