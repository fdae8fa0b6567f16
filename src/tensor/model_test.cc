#include "tensor/model.h"

#include <gtest/gtest.h>

#include "graph/control_flow.h"
#include "ir/build.h"
#include "lower/lower.h"
#include "stages/stage_graph.h"

namespace gossamer::tensor {
namespace {

using Shape = std::vector<int64_t>;

// Graphs by hand: what a reader makes of a model.
struct Made {
  graph::Graph graph;

  graph::ValueId value(std::string name, const Shape& shape = {}) {
    graph::Value value;
    value.name = std::move(name);
    value.shape_known = true;
    for (int64_t extent : shape) value.shape.push_back(ir::index(extent));
    return graph.add_value(std::move(value));
  }
  graph::ValueId constant(std::string name, const ops::TensorData& data) {
    const graph::ValueId id = value(std::move(name), data.shape);
    graph.values[id].constant = graph::source_of(data);
    graph.values[id].part = graph::Part::initializer;
    return id;
  }
  graph::ValueId node(std::string_view op, std::vector<graph::ValueId> inputs,
                      const ops::Attributes& attributes = {}) {
    graph::Node node;
    const ops::OpDef* control = graph::control_flow_op(op);
    node.def = control ? control : ops::builtin_catalog().find("", op);
    node.name = cat("the ", op);
    node.inputs = std::move(inputs);
    node.attributes = attributes;
    const graph::ValueId output = value(cat("y", graph.values.size()));
    node.outputs = {output};
    graph.nodes.push_back(std::move(node));
    return output;
  }
};

// y = reshape(x * w + b, [-1]) where b is read as a shape's neighbour, too.
Made example() {
  Made made;
  const auto x = made.value("x", {2, 3});
  const auto w = made.constant("w", ops::floats({3}, {1, 2, 3}));
  const auto to = made.constant("to", ops::int64s({1}, {-1}));
  const auto large = made.constant("table", ops::int64s({200}, std::vector<int64_t>(200, 1)));
  const auto product = made.node("Mul", {x, w});
  const auto y = made.node("Reshape", {product, to});
  made.graph.inputs = {x};
  made.graph.outputs = {y, made.node("Gather", {w, large}), x};
  return made;
}

TEST(Model, WeightsAreLeavesAndTheRestIsPartOfPrograms) {
  const auto model = Model::make(example().graph, {});
  ASSERT_TRUE(model) << model.error().to_string();
  ASSERT_EQ(model->leaves().size(), 2u);
  EXPECT_EQ(model->leaves()[0].name, "w");
  EXPECT_TRUE(model->leaves()[0].trainable);
  EXPECT_EQ(model->leaves()[1].name, "table");
  EXPECT_FALSE(model->leaves()[1].trainable);
  EXPECT_EQ(model->bytes_of(model->leaves()[0].value).size(), 12u);
}

TEST(Model, IsRecordedWithShapesOfItsInputs) {
  auto model = Model::make(example().graph, {});
  Recorder recorder;
  for (int64_t rows : {2, 5, 2}) {
    const Id x = recorder.leaf(ir::DType::f32, {rows, 3});
    const Id w = recorder.leaf(ir::DType::f32, {3}), table = recorder.leaf(ir::DType::i64, {200});
    const Id given[] = {x}, leaves[] = {w, table};
    const auto made = model->record(recorder, given, leaves);
    ASSERT_TRUE(made) << made.error().to_string();
    ASSERT_EQ(made->size(), 3u);
    EXPECT_EQ(recorder.spec((*made)[0]).shape, Shape({3 * rows}));
    EXPECT_EQ(recorder.spec((*made)[1]).shape, Shape({200}));
    EXPECT_EQ(recorder.size(), 6u);  // nothing between: it is one node
    EXPECT_EQ(recorder.plan(*made).program, rows == 5 ? 1 : 0);
    EXPECT_EQ(recorder.program(0).nodes.size(), 6u);
    for (Id id : {x, w, table}) recorder.release(id);
    for (Id id : *made) recorder.release(id);
    (void)recorder.take_unused();
    EXPECT_EQ(recorder.size(), 0u);
  }
}

TEST(Model, RegionsSeeWhatTheyCapture) {
  Made made;
  const auto x = made.value("x", {2}), w = made.constant("w", ops::floats({2}, {1, 2}));
  const auto condition = made.value("c");
  made.graph.values[condition].dtype = ir::DType::boolean;
  const auto y = made.node("If", {condition});
  for (const char* op : {"Add", "Mul"}) {
    Made branch;
    const auto a = branch.value("a"), b = branch.value("b");
    branch.graph.captures = {{x, a}, {w, b}};
    branch.graph.outputs = {branch.node(op, {a, b})};
    made.graph.nodes.back().regions.push_back(std::make_shared<graph::Graph>(branch.graph));
  }
  made.graph.inputs = {x, condition};
  made.graph.outputs = {y};
  auto model = Model::make(made.graph, {});
  ASSERT_TRUE(model) << model.error().to_string();
  Recorder recorder;
  const Id given[] = {recorder.leaf(ir::DType::f32, {2}), recorder.leaf(ir::DType::boolean, {})};
  const auto outputs = model->record(recorder, given, {});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  const auto plan = recorder.plan(*outputs);
  const auto stages = lower::lower(recorder.program(plan.program), ops::builtin_catalog());
  ASSERT_TRUE(stages) << stages.error().to_string();
  EXPECT_NE(stages::print(*stages).find("else"), std::string::npos);
}

TEST(Model, SaysWhichNodeDoesNotFit) {
  auto model = Model::make(example().graph, {});
  Recorder recorder;
  const Id given[] = {recorder.leaf(ir::DType::f32, {2, 4})};
  const Id leaves[] = {recorder.leaf(ir::DType::f32, {3}), recorder.leaf(ir::DType::i64, {200})};
  const auto made = model->record(recorder, given, leaves);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().to_string().find("[Mul] \"the Mul\""), std::string::npos);
  EXPECT_EQ(recorder.size(), 3u);
  EXPECT_FALSE(model->record(recorder, {}, leaves));
}

}  // namespace
}  // namespace gossamer::tensor
