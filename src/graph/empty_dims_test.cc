#include "graph/empty_dims.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::graph {
namespace {

// past f32 [batch, n, 4] goes through `nodes`, each an operator of the value before and, where it
// has more inputs, of x f32 [batch, 1, 4].
struct Step {
  const char* op;
  size_t inputs = 1;
  ops::Attributes attributes = {};
};

std::string empty_dims(const std::vector<Step>& steps, bool is_output = false) {
  Graph graph;
  const ir::Var batch = ir::var("batch"), n = ir::var("n");
  const auto add = [&](const char* name, std::vector<ir::Expr> shape) {
    Value value;
    value.name = name;
    value.shape = std::move(shape);
    value.shape_known = true;
    graph.inputs.push_back(graph.add_value(std::move(value)));
    return graph.inputs.back();
  };
  ValueId last = add("past", {batch, n, ir::index(4)});
  const ValueId x = add("x", {batch, ir::index(1), ir::index(4)});
  graph.dims = {{batch, 0, 0}, {n, 0, 1}};
  for (const Step& step : steps) {
    Node node;
    node.def = ops::builtin_catalog().find("", step.op);
    node.attributes = step.attributes;
    node.inputs = {last};
    node.inputs.resize(step.inputs, x);
    last = graph.add_value({});
    node.outputs = {last};
    graph.nodes.push_back(std::move(node));
  }
  graph.outputs = {is_output ? graph.inputs[0] : last};
  std::string names;
  const auto found = dims_that_may_be_empty(graph);
  for (const Dim& dim : graph.dims)
    if (found.contains(dim.var.get())) names += dim.var->name + " ";
  return names;
}

TEST(EmptyDims, AreThoseThatAreOnlyJoined) {
  const Step join{"Concat", 2, {{"axis", int64_t{1}}}};
  EXPECT_EQ(empty_dims({join}), "n ");
  EXPECT_EQ(empty_dims({{"Concat", 2, {{"axis", int64_t{-2}}}}}), "n ");
  EXPECT_EQ(empty_dims({{"Cast"}, join, {"Relu"}}), "n ");
  EXPECT_EQ(empty_dims({{"Shape"}}), "batch n ");
  // Their axis elsewhere.
  const Step turn{"Transpose", 1, {{"perm", std::vector<int64_t>{0, 2, 1}}}};
  EXPECT_EQ(empty_dims({turn, {"Concat", 2, {{"axis", int64_t{2}}}}}), "n ");
  EXPECT_EQ(empty_dims({turn, join}), "");
  // What is computed with is not empty.
  EXPECT_EQ(empty_dims({{"Concat", 2, {{"axis", int64_t{2}}}}}), "");
  EXPECT_EQ(empty_dims({{"Concat", 1, {{"axis", int64_t{1}}}}}), "");
  EXPECT_EQ(empty_dims({{"Relu"}, join}), "");
  EXPECT_EQ(empty_dims({join}, true), "");
}

}  // namespace
}  // namespace gossamer::graph
