#include "tensor/learnt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/build.h"

namespace gossamer::tensor {
namespace {

using graph::Part;
using graph::ValueId;
using Names = std::vector<std::string>;

struct Made {
  graph::Graph graph;

  ValueId value(std::string name) {
    graph::Value value;
    value.name = std::move(name);
    return graph.add_value(std::move(value));
  }
  ValueId constant(std::string name, const ops::TensorData& data, Part part = Part::initializer) {
    const ValueId id = value(std::move(name));
    graph.values[id].constant = graph::source_of(data);
    graph.values[id].part = part;
    return id;
  }
  ValueId node(std::string_view op, std::vector<ValueId> inputs, std::string name = "") {
    graph::Node node;
    node.def = ops::builtin_catalog().find("", op);
    node.inputs = std::move(inputs);
    node.name = cat("the ", op);
    const ValueId output = value(name.empty() ? cat("v", graph.values.size()) : std::move(name));
    node.outputs = {output};
    graph.nodes.push_back(std::move(node));
    return output;
  }
  // Names of what is learnt, once merged values are parted.
  Names learnt() {
    part_merged(graph, {});
    const std::vector<uint8_t> found = find_learnt(graph, {});
    Names names;
    for (ValueId id = 0; id < found.size(); ++id)
      if (found[id]) names.push_back(graph.values[id].name);
    std::ranges::sort(names);
    return names;
  }
};

ops::TensorData matrix() { return ops::floats({2, 2}, {1, 2, 3, 4}); }

TEST(Learnt, BehindIdentityAndTranspose) {
  Made made;
  const ValueId x = made.value("x"), tied = made.constant("tied", matrix());
  const ValueId y = made.node("MatMul", {x, made.node("Transpose", {tied})});
  const ValueId z = made.node("MatMul", {y, made.node("Identity", {tied})});
  made.node("MatMul", {z, made.node("Transpose", {made.node("Identity", {tied})})});
  EXPECT_EQ(made.learnt(), Names({"tied"}));
}

TEST(Learnt, ScalarsButNotConstantNodes) {
  Made made;
  const ValueId x = made.value("x");
  const ValueId scale = made.constant("scale", ops::floats({}, {2}));
  const ValueId half = made.constant("half", ops::floats({}, {0.5}), Part::number);
  const ValueId table = made.constant("table", matrix(), Part::number);
  const ValueId y = made.node("Mul", {made.node("Mul", {x, scale}), half});
  made.node("Add", {y, table});
  EXPECT_EQ(made.learnt(), Names({"scale"}));
}

TEST(Learnt, NumbersOfOperatorsAreNot) {
  Made made;
  const ValueId x = made.value("x");
  const ValueId two = made.constant("two", ops::floats({}, {2}));
  const ValueId powers = made.constant("powers", ops::floats({1}, {3}));
  const ValueId epsilon = made.constant("epsilon", ops::floats({}, {1e-5f}));
  const ValueId far = made.constant("far", ops::floats({}, {-1e9f}));
  const ValueId whole = made.constant("whole", ops::int64s({2}, {1, 2}));
  const ValueId limit = made.constant("limit", ops::floats({}, {6}));
  const ValueId bound = made.constant("bound", matrix());
  const ValueId y = made.node("Add", {made.node("Pow", {x, two}), epsilon});
  const ValueId z = made.node("Clip", {made.node("Pow", {y, powers}), limit});
  const ValueId mask = made.node("Less", {z, bound});
  made.node("Where", {mask, made.node("Add", {z, whole}), far});
  EXPECT_EQ(made.learnt(), Names({"powers"}));
}

TEST(Learnt, WhatIsMadeOfThemAloneIsReadInTheirPlace) {
  Made made;
  const ValueId x = made.value("x"), axes = made.constant("axes", ops::int64s({1}, {0}));
  const ValueId logarithm = made.constant("logarithm", ops::floats({1}, {0.5}));
  const ValueId positions = made.constant("positions", matrix());
  const ValueId compared = made.constant("compared", matrix());
  const ValueId y = made.node("Mul", {x, made.node("Exp", {logarithm})});
  made.node("Add", {y, made.node("Unsqueeze", {positions, axes})});
  made.node("Less", {y, made.node("Unsqueeze", {compared, axes})});
  EXPECT_EQ(made.learnt(), Names({"logarithm", "positions"}));
}

TEST(Learnt, EqualNormalizationsArePartedAndTiedWeightsAreNot) {
  Made made;
  const ValueId x = made.value("x");
  const ValueId ones = made.constant("a.weight", ops::floats({2}, {1, 1}));
  const ValueId zeros = made.constant("a.bias", ops::floats({2}, {0, 0}));
  const ValueId tied = made.constant("in.weight", matrix());
  const ValueId other = made.node("Identity", {ones}, "b.weight");
  const ValueId bias = made.node("Identity", {zeros}, "b.bias");
  const ValueId variance = made.node("Identity", {ones}, "b.running_var");
  const ValueId y = made.node("LayerNormalization", {made.node("MatMul", {x, tied}), ones, zeros});
  const ValueId z = made.node("BatchNormalization", {y, other, bias, zeros, variance});
  made.node("MatMul", {z, made.node("Identity", {tied}, "out.weight")});
  EXPECT_EQ(made.learnt(), Names({"a.bias", "a.weight", "b.bias", "b.weight", "in.weight"}));
  EXPECT_EQ(made.graph.nodes.size(), 5u);  // an Identity is left
  const ValueId mean = made.graph.nodes[2].inputs[3];
  EXPECT_EQ(made.graph.values[mean].name, "the BatchNormalization.running_mean");
}

TEST(Learnt, ExportersSayWhatIs) {
  Made made;
  const ValueId x = made.value("x");
  const ValueId limit = made.constant("limit", ops::floats({}, {6}), Part::parameter);
  const ValueId table = made.constant("table", matrix(), Part::fixed);
  made.node("Min", {made.node("Add", {x, table}), limit});
  EXPECT_EQ(made.learnt(), Names({"limit"}));
}

}  // namespace
}  // namespace gossamer::tensor
