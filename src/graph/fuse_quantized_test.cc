#include "graph/fuse_quantized.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::graph {
namespace {

using ir::DType;
using ops::TensorData;
using stages::ConstantSource;

// x -> DequantizeLinear, an operator with a dequantised weight and bias, Relu, QuantizeLinear.
struct Quantized : testing::Test {
  Graph graph;
  ValueId x = input();
  std::vector<ValueId> reals;  // what a test may make an output

  ValueId value(const char* name) {
    Value made;
    made.name = name;
    return graph.add_value(std::move(made));
  }
  ValueId input() {
    Value made{"x", DType::u8, {}, true, {}};
    for (int64_t extent : {1, 2, 5, 5}) made.shape.push_back(ir::index(extent));
    graph.inputs = {graph.add_value(std::move(made))};
    return graph.inputs[0];
  }
  ValueId constant(const TensorData& data) {
    ConstantSource source;
    source.dtype = data.dtype;
    source.shape = data.shape;
    source.bytes = data.bytes;
    return graph.add_value({"k", data.dtype, {}, true, std::move(source)});
  }
  ValueId node(const char* op, std::vector<ValueId> inputs, ops::Attributes attributes = {}) {
    Node made;
    made.def = ops::builtin_catalog().find("", op);
    made.name = op;
    made.inputs = std::move(inputs);
    made.outputs = {value(op)};
    made.attributes = std::move(attributes);
    graph.nodes.push_back(std::move(made));
    return graph.nodes.back().outputs[0];
  }
  // The bias has this scale where the products have 0.25.
  ValueId convolution(float bias_scale = 0.25f) {
    const ValueId half = constant(ops::floats({}, {0.5f}));
    const ValueId real = node("DequantizeLinear", {x, half, constant(ops::uint8s({}, {3}))});
    const TensorData weights = ops::int8s({3, 2, 1, 1}, {1, 2, 3, 4, 5, 6});
    const ValueId w = node("DequantizeLinear",
                           {constant(weights), constant(ops::floats({3}, {0.5f, 0.5f, 0.5f}))},
                           {{"axis", int64_t{0}}});
    const ValueId bias = node("DequantizeLinear", {constant(ops::int32s({3}, {10, -20, 30})),
                                                   constant(ops::floats({}, {bias_scale}))});
    reals.push_back(node("Conv", {real, w, bias}));
    return reals.back();
  }
  ValueId quantized(ValueId real, uint8_t zero_point = 0, float scale = 2) {
    graph.outputs.push_back(node("QuantizeLinear", {real, constant(ops::floats({}, {scale})),
                                                    constant(ops::uint8s({}, {zero_point}))}));
    return graph.outputs.back();
  }
  size_t count(std::string_view op) {
    const Graph fused = fuse_quantized(graph, ops::builtin_catalog());
    size_t found = 0;
    for (const Node& one : fused.nodes) found += one.def->name == op;
    return found;
  }
};

TEST_F(Quantized, ConvolutionIsOneOfIntegers) {
  quantized(convolution());
  const Graph fused = fuse_quantized(graph, ops::builtin_catalog());
  const Node& last = fused.nodes.back();
  EXPECT_EQ(last.def->name, "QLinearConv");
  ASSERT_EQ(last.inputs.size(), 9u);
  EXPECT_EQ(last.inputs[0], x);
  EXPECT_EQ(fused.values[last.inputs[5]].dtype, DType::i8);  // the zero that the file leaves out
  EXPECT_EQ(fused.values[last.inputs[8]].dtype, DType::i32);
  EXPECT_EQ(last.outputs, graph.outputs);
  EXPECT_EQ(count("Conv"), 0u);
}

TEST_F(Quantized, GroupsFollowEachOther) {
  const ValueId first = quantized(convolution());
  const ValueId two = constant(ops::floats({}, {2.0f}));
  const ValueId real = node("DequantizeLinear", {first, two, constant(ops::uint8s({}, {0}))});
  quantized(node("GlobalAveragePool", {real}));
  EXPECT_EQ(count("QLinearConv"), 1u);
  EXPECT_EQ(count("QLinearGlobalAveragePool"), 1u);
}

TEST_F(Quantized, WhatSaturatesAnywayGoes) {
  quantized(node("Relu", {convolution()}));
  EXPECT_EQ(count("QLinearConv"), 1u);
  EXPECT_EQ(count("Relu"), 0u);
}

TEST_F(Quantized, WhatDoesNotSaturateStays) {
  quantized(node("Relu", {convolution()}), 7);
  EXPECT_EQ(count("QLinearConv"), 0u);
}

// 6 / 255 in f32 times 255 is a little more than 6.
TEST_F(Quantized, ClipThatRoundsToTheLastIntegerGoes) {
  const ValueId low = constant(ops::floats({}, {0.0f}));
  const ValueId real = node("Clip", {convolution(), low, constant(ops::floats({}, {6.0f}))});
  quantized(real, 0, 6.0f / 255);
  EXPECT_EQ(count("Clip"), 0u);
  EXPECT_EQ(count("QLinearConv"), 1u);
}

TEST_F(Quantized, ClipWithinTheRangeStays) {
  const ValueId low = constant(ops::floats({}, {0.0f}));
  quantized(node("Clip", {convolution(), low, constant(ops::floats({}, {509.0f}))}));
  EXPECT_EQ(count("QLinearConv"), 0u);
  graph.nodes.clear();
  graph.outputs.clear();
  quantized(node("Clip", {convolution(), low, constant(ops::floats({}, {510.0f}))}));
  EXPECT_EQ(count("QLinearConv"), 1u);
}

TEST_F(Quantized, RealNumbersThatAreReadStay) {
  quantized(convolution());
  graph.outputs.push_back(reals[0]);
  EXPECT_EQ(count("QLinearConv"), 0u);
  EXPECT_EQ(count("Conv"), 1u);
}

TEST_F(Quantized, BiasHasTheScaleOfTheProducts) {
  quantized(convolution(0.2f));
  EXPECT_EQ(count("QLinearConv"), 0u);
}

TEST_F(Quantized, LooksThroughNodesThatChangeNothing) {
  const ValueId real = convolution();
  Node& conv = graph.nodes.back();
  ASSERT_EQ(conv.def->name, "Conv");
  // The quantised input comes as the exporter of PyTorch writes it.
  Node& dequantize = graph.nodes.front();
  const ValueId same = value("same");
  dequantize.inputs[0] = same;
  Node cast;
  cast.def = ops::builtin_catalog().find("", "Cast");
  cast.name = "cast";
  cast.inputs = {x};
  cast.outputs = {same};
  cast.attributes = {{"to", int64_t{2}}};
  graph.nodes.insert(graph.nodes.begin(), std::move(cast));
  quantized(real);
  EXPECT_EQ(count("QLinearConv"), 1u);
}

}  // namespace
}  // namespace gossamer::graph
