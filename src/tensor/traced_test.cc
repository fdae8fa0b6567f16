#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "ir/build.h"
#include "tensor/recorder.h"

namespace gossamer::tensor {
namespace {

using Shape = std::vector<int64_t>;

// A function of x [b, n], traced at three shapes.
class TracedFunction : public testing::Test {
 protected:
  using Function = std::function<std::vector<Id>(Id x)>;

  Id make(std::string_view op, std::vector<Id> inputs, const ops::Attributes& attributes = {}) {
    const auto made = recorder.record(*recorder.operation(op, attributes), inputs);
    if (made) return made->front();
    ADD_FAILURE() << made.error().to_string();
    return no_tensor;
  }
  Id whole(std::vector<int64_t> numbers) {
    const Shape shape{static_cast<int64_t>(numbers.size())};
    return *recorder.constant(ops::int64s(shape, std::move(numbers)));
  }
  Shape shape(Id id) { return recorder.spec(id).shape; }
  // A tensor that the function makes.
  Id made(const Shape& extents, const std::function<float(int64_t)>& value) {
    int64_t count = 1;
    for (const int64_t extent : extents) count *= extent;
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(value(i));
    const Id id = recorder.leaf(ir::DType::f32, extents);
    elements[id] = ops::floats(extents, values).bytes;
    return id;
  }

  Result<graph::Graph> trace(const Function& function) {
    Traced traced;
    traced.name = "function";
    std::vector<Recorder::Plan> plans;
    std::vector<Id> ports;
    for (const Shape& extents : {Shape{4, 6}, Shape{8, 18}, Shape{13, 31}}) {
      ports.push_back(recorder.leaf(ir::DType::f32, extents));
      plans.push_back(recorder.plan(function(ports.back())));
      traced.programs.push_back(plans.back().program);
    }
    for (size_t at = 0; at < plans[0].feeds.size(); ++at) {
      auto& feed = traced.feeds.emplace_back(cat("w", at));
      if (plans[0].feeds[at] == ports[0])
        traced.ports = {{"x", {ir::DType::f32, {4, 6}}, static_cast<int>(at)}};
      if (plans[0].feeds[at] == ports[0]) continue;
      for (const auto& plan : plans) feed.elements.emplace_back(elements.at(plan.feeds[at]));
    }
    if (traced.ports.empty()) traced.ports = {{"x", {ir::DType::f32, {4, 6}}, -1}};
    traced.outputs = {"y", "z"};
    traced.dims = {{"b", {{0, 0}}, {4, 8, 13}}, {"n", {{0, 1}}, {6, 18, 31}}};
    return recorder.traced(traced);
  }
  std::string error_of(const Function& function) {
    const auto made = trace(function);
    return made ? "none" : made.error().to_string();
  }
  static std::vector<std::string> ops_of(const graph::Graph& graph) {
    std::vector<std::string> names;
    for (const graph::Node& node : graph.nodes) names.push_back(node.def->name);
    return names;
  }
  static std::string text_of(const graph::Value& value) {
    std::string text;
    for (const ir::Expr& extent : value.shape) {
      const auto* var = ir::as<ir::VarNode>(extent);
      text += cat(text.empty() ? "" : ", ", var ? var->name : cat(*ir::as_int(extent)));
    }
    return text;
  }

  Recorder recorder;
  std::map<Id, std::vector<std::byte>> elements;
};

TEST_F(TracedFunction, ShapesAndElementsFollowFromItsDimensions) {
  const auto graph = trace([&](Id x) {
    const int64_t b = shape(x)[0], n = shape(x)[1];
    const Id positions = made({n}, [](int64_t i) { return static_cast<float>(i); });
    const Id ones = made({b, 1}, [](int64_t) { return 1.0f; });
    const Id y = make("Add", {make("Mul", {x, positions}), ones});
    return std::vector{make("Reshape", {y, whole({b * n, 1})}), y};
  });
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(text_of(graph->values[graph->inputs[0]]), "b, n");
  EXPECT_EQ(text_of(graph->values[graph->outputs[0]]), "y_0, 1");
  EXPECT_EQ(text_of(graph->values[graph->outputs[1]]), "b, n");
  const auto ops = ops_of(*graph);
  for (const char* op : {"Range", "ConstantOfShape", "Shape"})
    EXPECT_NE(std::ranges::find(ops, op), ops.end()) << op;
  EXPECT_EQ(graph->inputs.size(), 1u);
}

TEST_F(TracedFunction, WhatIsTheSameInAllTracesIsAWeight) {
  const auto graph = trace([&](Id x) {
    return std::vector{make("Add", {x, made({1}, [](int64_t) { return 0.5f; })}), x};
  });
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto weight = std::ranges::find(graph->values, "w1", &graph::Value::name);
  ASSERT_NE(weight, graph->values.end());
  EXPECT_TRUE(weight->constant);
  EXPECT_EQ(weight->part, graph::Part::fixed);
}

TEST_F(TracedFunction, AnInputThatIsNotReadStaysAnInput) {
  const auto graph = trace([&](Id x) {
    const Id ones = made({shape(x)[1]}, [](int64_t) { return 1.0f; });
    return std::vector{make("Neg", {ones}), make("Abs", {ones})};
  });
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(text_of(graph->values[graph->inputs[0]]), "b, n");
  EXPECT_EQ(text_of(graph->values[graph->outputs[0]]), "n");
}

TEST_F(TracedFunction, ReshapeFindsAnExtentThatHasNoFormula) {
  const auto graph = trace([&](Id x) {
    const int64_t b = shape(x)[0], n = shape(x)[1];
    const Id part = make("Slice", {x, whole({0}), whole({n - n % 7}), whole({1}), whole({7})});
    return std::vector{make("Reshape", {part, whole({b, shape(part)[1], 1})}), x};
  });
  EXPECT_FALSE(graph);  // the slice's end has none
  const auto other = trace([&](Id x) {
    const int64_t b = shape(x)[0], n = shape(x)[1];
    const Id part = make("Slice", {x, whole({2}), whole({1000}), whole({1}), whole({3})});
    return std::vector{make("Reshape", {part, whole({b, (n - 2 + 2) / 3, 1})}), x};
  });
  ASSERT_TRUE(other) << other.error().to_string();
}

TEST_F(TracedFunction, SaysWhatFollowsFromADimensionInAnotherWay) {
  EXPECT_NE(error_of([&](Id x) {
              const Id noise =
                  made({shape(x)[1]}, [](int64_t i) { return i % 3 == 0 ? 0.7f : 0.1f; });
              return std::vector{make("Add", {x, noise}), x};
            }).find("a tensor of shape [6]"),
            std::string::npos);
  EXPECT_NE(error_of([&](Id x) {
              return std::vector{make(shape(x)[1] > 20 ? "Neg" : "Abs", {x}), x};
            }).find("depends on the extents"),
            std::string::npos);
  EXPECT_NE(error_of([&](Id x) {
              return std::vector{
                  make("LeakyRelu", {x}, {{"alpha", 1.0 / static_cast<double>(shape(x)[1])}}), x};
            }).find("[LeakyRelu]"),
            std::string::npos);
}

}  // namespace
}  // namespace gossamer::tensor
