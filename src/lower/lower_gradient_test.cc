#include "lower/lower_gradient.h"

#include <gtest/gtest.h>

#include "graph/control_flow.h"
#include "interp/eval.h"
#include "interp/stages.h"
#include "ir/build.h"
#include "ir/scalar.h"
#include "lower/lower.h"
#include "stages/stage_graph.h"

namespace gossamer::lower {
namespace {

using graph::Graph;
using graph::no_value;
using graph::Node;
using graph::own_domain;
using graph::training_domain;
using graph::Value;
using graph::ValueId;
using ir::DType;
using stages::ConstantSource;
using stages::StageConstant;
using stages::StageOutput;
using Values = std::vector<double>;

// A graph of vectors of f64.
struct Gradient : testing::Test {
  Graph graph;
  interp::Values memory;
  std::vector<ops::TensorData> feeds;

  static ops::TensorData data_of(const Values& values) {
    ops::TensorData data{DType::f64, {static_cast<int64_t>(values.size())}, {}, {}};
    data.bytes.resize(values.size() * 8);
    for (size_t i = 0; i < values.size(); ++i)
      ir::write_scalar(ir::Scalar::of_float(DType::f64, values[i]), &data.bytes[i * 8]);
    return data;
  }

  ValueId value(DType dtype = DType::f64) {
    Value made;
    made.name = cat("v", graph.values.size());
    made.dtype = dtype;
    return graph.add_value(std::move(made));
  }
  ValueId input(const Values& values) {
    const ValueId id = value();
    graph.values[id].shape = {ir::index(static_cast<int64_t>(values.size()))};
    graph.values[id].shape_known = true;
    graph.inputs.push_back(id);
    feeds.push_back(data_of(values));
    return id;
  }
  ValueId constant(const Values& values) {
    const ValueId id = value();
    ConstantSource source;
    source.dtype = DType::f64;
    source.shape = {static_cast<int64_t>(values.size())};
    source.bytes = data_of(values).bytes;
    graph.values[id].constant = std::move(source);
    return id;
  }
  std::vector<ValueId> add(const ops::OpDef* def, std::vector<ValueId> inputs, size_t outputs,
                           ops::Attributes attributes = {}) {
    Node node;
    node.def = def;
    node.name = cat(def->name, graph.nodes.size());
    node.inputs = std::move(inputs);
    for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(value());
    node.attributes = std::move(attributes);
    graph.nodes.push_back(node);
    return node.outputs;
  }
  ValueId call(std::string_view op, std::vector<ValueId> inputs, ops::Attributes attributes = {},
               std::string_view domain = "") {
    return add(ops::builtin_catalog().find(domain, op), std::move(inputs), 1,
               std::move(attributes))[0];
  }
  std::vector<ValueId> gradient(ValueId y, std::vector<ValueId> xs, ValueId seed = no_value) {
    const auto count = static_cast<int64_t>(xs.size());
    std::vector<ValueId> inputs = xs;
    inputs.push_back(y);
    if (seed != no_value) inputs.push_back(seed);
    return add(graph::gradient_op(own_domain, "Gradient"), inputs, xs.size(), {{"count", count}});
  }
  std::vector<ValueId> gradient_of_onnx(ValueId y, std::vector<ValueId> given,
                                        std::vector<ValueId> tensors, int64_t count) {
    std::vector<ValueId> inputs = std::move(given);
    inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    inputs.push_back(y);
    return add(graph::gradient_op(training_domain, "Gradient"), inputs, static_cast<size_t>(count),
               {{"count", count}});
  }

  std::string error() {
    if (graph.outputs.empty()) graph.outputs = graph.nodes.back().outputs;
    auto made = lower(graph, ops::builtin_catalog());
    return made ? "no error" : made.error().to_string();
  }
  std::vector<Values> run(std::vector<ValueId> outputs) {
    graph.outputs = std::move(outputs);
    auto made = lower(graph, ops::builtin_catalog());
    EXPECT_TRUE(made) << (made ? "" : made.error().to_string());
    if (!made) return {};
    for (size_t i = 0; i < feeds.size(); ++i) memory[made->inputs[i].buffer.get()] = feeds[i];
    for (const StageConstant& one : made->constants)
      memory[one.buffer.get()] = {one.source.dtype, one.source.shape, one.source.bytes, {}};
    const Result<> ran = interp::run_program(made->program, memory);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().to_string());
    std::vector<Values> all;
    for (const StageOutput& output : made->outputs) {
      const ops::TensorData& data = memory.at(output.buffer.get());
      all.emplace_back();
      for (int64_t i = 0; i < data.element_count(); ++i)
        all.back().push_back(
            ir::read_scalar(data.dtype, &data.bytes[static_cast<size_t>(i) * 8]).as_double());
    }
    return all;
  }
};

TEST_F(Gradient, OfProductsAndSums) {
  const ValueId a = input({1, 2, 3}), b = input({4, 5, 6});
  const ValueId d = call("Mul", {call("Add", {a, b}), a});
  const auto made = gradient(d, {a, b});
  const auto found = run({made[0], made[1]});
  EXPECT_EQ(found[0], (Values{6, 9, 12}));
  EXPECT_EQ(found[1], (Values{1, 2, 3}));
}

TEST_F(Gradient, TakesASeed) {
  const ValueId a = input({1, 2, 3}), seed = input({1, 0, -2});
  const auto found = run(gradient(call("Mul", {a, a}), {a}, seed));
  EXPECT_EQ(found[0], (Values{2, 0, -12}));
}

// d (x^3) = 3 x^2, d of that = 6 x, d of that = 6.
TEST_F(Gradient, OfGradients) {
  const ValueId x = input({1, -2});
  const ValueId cube = call("Mul", {call("Mul", {x, x}), x});
  const ValueId first = gradient(cube, {x})[0], second = gradient(first, {x})[0];
  const auto found = run({first, second, gradient(second, {x})[0]});
  EXPECT_EQ(found[0], (Values{3, 12}));
  EXPECT_EQ(found[1], (Values{6, -12}));
  EXPECT_EQ(found[2], (Values{6, 6}));
}

// Values between count too: d y / d h, and d y / d x through h.
TEST_F(Gradient, OfValuesBetween) {
  const ValueId x = input({3});
  const ValueId h = call("Mul", {x, x});
  const ValueId y = call("Mul", {h, x});
  const auto found = run(gradient(y, {x, h}));
  EXPECT_EQ(found[0], (Values{27}));
  EXPECT_EQ(found[1], (Values{3}));
}

TEST_F(Gradient, KeepsNamesOfOneTensorApart) {
  const ValueId x = input({3});
  const ValueId same = call("Identity", {x});
  const auto found = run(gradient(call("Mul", {x, call("Mul", {same, same})}), {x, same}));
  EXPECT_EQ(found[0], (Values{27}));
  EXPECT_EQ(found[1], (Values{18}));
}

TEST_F(Gradient, OfConstants) {
  const ValueId x = input({3, 4}), w = constant({2});
  const auto found = run(gradient(call("Mul", {x, w}), {w}));
  EXPECT_EQ(found[0], (Values{7}));
}

TEST_F(Gradient, IsZeroWithoutAPath) {
  const ValueId x = input({3, 4}), z = input({1, 1});
  const auto through =
      call("Cast", {call("Cast", {x}, {{"to", int64_t{7}}})}, {{"to", int64_t{11}}});
  const auto found = run(gradient(call("Mul", {through, through}), {x, z}));
  EXPECT_EQ(found[0], (Values{0, 0}));
  EXPECT_EQ(found[1], (Values{0, 0}));
}

TEST_F(Gradient, StopsWhereItIsTold) {
  const ValueId x = input({3, 4});
  const ValueId stopped = call("StopGradient", {x}, {}, "ai.gossamer");
  const auto found = run(gradient(call("Mul", {x, stopped}), {x}));
  EXPECT_EQ(found[0], (Values{3, 4}));
}

TEST_F(Gradient, GrowsAsTheGraphDoes) {
  const auto stages_of_chain = [&](int length) {
    graph = {};
    feeds.clear();
    const ValueId x = input({1, 2}), w = input({2, 1});
    ValueId y = x;
    for (int i = 0; i < length; ++i) y = call("Mul", {y, i % 2 ? w : x});
    graph.outputs = gradient(y, {x, w});
    const auto made = lower(graph, ops::builtin_catalog());
    return made ? made->program.size() : 0;
  };
  const size_t some = stages_of_chain(40);
  EXPECT_GT(some, 40u);
  EXPECT_LE(stages_of_chain(400), 10 * some + 10);
}

// ONNX: xs are variables of their own, and values may take their place.
TEST_F(Gradient, OfOnnxTakesXsAsIndependent) {
  const ValueId x = input({3});
  const ValueId h = call("Mul", {x, x});
  const ValueId y = call("Mul", {h, x});
  const auto found = run(gradient_of_onnx(y, {x, h}, {x, h}, 2));
  EXPECT_EQ(found[0], (Values{9}));
  EXPECT_EQ(found[1], (Values{3}));
}

TEST_F(Gradient, OfOnnxIsTakenAtTheValuesGiven) {
  const ValueId x = input({3}), z = input({5}), other = input({7});
  const ValueId y = call("Mul", {call("Mul", {x, x}), z});
  const auto made = gradient_of_onnx(y, {other, z}, {x, z}, 1);
  const auto found = run({made[0], y});
  EXPECT_EQ(found[0], (Values{70}));
  EXPECT_EQ(found[1], (Values{45}));
}

// A region that reads one value of the graph around it, and what it is given.
std::shared_ptr<Graph> region(ValueId outer, size_t inputs,
                              const std::function<std::vector<ValueId>(
                                  Graph&, ValueId captured, const std::vector<ValueId>&)>& body) {
  auto made = std::make_shared<Graph>();
  made->name = "body";
  const auto value = [&](const char* name) {
    Value one;
    one.name = name;
    one.dtype = DType::f64;
    return made->add_value(std::move(one));
  };
  const ValueId captured = value("captured");
  made->captures.push_back({outer, captured});
  for (size_t i = 0; i < inputs; ++i) made->inputs.push_back(value("given"));
  made->outputs = body(*made, captured, made->inputs);
  return made;
}

ValueId product(Graph& graph, ValueId a, ValueId b) {
  Value value;
  value.name = cat("product", graph.nodes.size());
  value.dtype = DType::f64;
  const ValueId made = graph.add_value(std::move(value));
  Node node;
  node.def = ops::builtin_catalog().find("", "Mul");
  node.name = cat("Mul", graph.nodes.size());
  node.inputs = {a, b};
  node.outputs = {made};
  graph.nodes.push_back(std::move(node));
  return made;
}

// x * x * x where the first of two is greater, else x * x.
TEST_F(Gradient, OfTheBranchThatIsTaken) {
  for (const bool first : {true, false}) {
    graph = {};
    feeds.clear();
    memory.clear();
    const ValueId x = input({3}), a = input({first ? 2.0 : 1.0}), b = input({1.5});
    const ValueId greater = call("Squeeze", {call("Greater", {a, b})});
    const ValueId y = add(graph::control_flow_op("If"), {greater}, 1)[0];
    graph.nodes.back().regions = {
        region(x, 0,
               [](Graph& inner, ValueId own, const auto&) {
                 return std::vector{product(inner, product(inner, own, own), own)};
               }),
        region(x, 0, [](Graph& inner, ValueId own, const auto&) {
          return std::vector{product(inner, own, own)};
        })};
    const auto found = run(gradient(call("Mul", {y, x}), {x}));
    EXPECT_EQ(found[0], (Values{first ? 108.0 : 27.0}));
  }
}

// v becomes v * w in each of three rounds; rows stack what it was.
TEST_F(Gradient, GoesBackThroughRounds) {
  const ValueId v = input({2}), w = input({3}), limit = input({3});
  const ValueId rounds = call("Squeeze", {call("Cast", {limit}, {{"to", int64_t{7}}})});
  const auto made = add(graph::control_flow_op("Loop"), {rounds, no_value, v}, 2);
  graph.nodes.back().regions = {
      region(w, 3, [](Graph& inner, ValueId weight, const std::vector<ValueId>& given) {
        return std::vector{given[1], product(inner, given[2], weight), given[2]};
      })};
  const auto last = gradient(made[0], {v, w}), stacked = gradient(made[1], {v, w});
  const auto found = run({last[0], last[1], stacked[0], stacked[1], made[0]});
  EXPECT_EQ(found[4], (Values{54}));
  EXPECT_EQ(found[0], (Values{27}));
  EXPECT_EQ(found[1], (Values{54}));  // 3 w^2 v
  EXPECT_EQ(found[2], (Values{13}));  // 1 + w + w^2
  EXPECT_EQ(found[3], (Values{14}));  // v (1 + 2 w)
}

TEST_F(Gradient, ErrorsNameWhatIsWrong) {
  const ValueId x = input({3});
  const ValueId whole = call("Cast", {x}, {{"to", int64_t{7}}});
  gradient(whole, {x});
  EXPECT_NE(error().find("[Gradient] \"Gradient1\": \"v1\" has type i64"), std::string::npos)
      << error();
}

TEST_F(Gradient, RefusesASeedOfAnotherShape) {
  const ValueId x = input({3, 4}), seed = input({1});
  gradient(call("Mul", {x, x}), {x}, seed);
  EXPECT_NE(error().find("the seed has another shape than y"), std::string::npos) << error();
}

}  // namespace
}  // namespace gossamer::lower
