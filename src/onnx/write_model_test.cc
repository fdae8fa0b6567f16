#include "onnx/write_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/build.h"
#include "lower/lower.h"
#include "onnx/model_writer.h"
#include "onnx/proto.h"
#include "onnx/reader.h"
#include "stages/stage_graph.h"

namespace gossamer::onnx {
namespace {

graph::Value value_of(std::string name, std::vector<ir::Expr> shape) {
  graph::Value value;
  value.name = std::move(name);
  value.shape = std::move(shape);
  value.shape_known = true;
  return value;
}

std::string stages_of(const graph::Graph& graph) {
  const auto stages = lower::lower(graph, ops::builtin_catalog());
  return stages ? stages::print(*stages) : stages.error().to_string();
}

graph::Graph read(Bytes bytes) {
  auto graph = read_model(bytes);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return graph ? *std::move(graph) : graph::Graph{};
}

// y = LeakyRelu(x, 0.25) * w, whose names are not all different.
graph::Graph example() {
  const ops::Catalog& catalog = ops::builtin_catalog();
  graph::Graph graph;
  graph.name = "example";
  const auto x = graph.add_value(value_of("x", {ir::index(2), ir::index(3)}));
  graph::Value weight = value_of("w", {ir::index(3)});
  weight.constant = graph::source_of(ops::floats({3}, {1, 2, 3}));
  const auto w = graph.add_value(std::move(weight));
  const auto middle = graph.add_value(value_of("x", {ir::index(2), ir::index(3)}));
  const auto y = graph.add_value(value_of("y", {ir::index(2), ir::index(3)}));
  graph.nodes.push_back({catalog.find("", "LeakyRelu"), "a", {x}, {middle}, {{"alpha", 0.25}}, {}});
  graph.nodes.push_back({catalog.find("", "Mul"), "b", {middle, w}, {y}, {}, {}});
  graph.inputs = {x};
  graph.outputs = {y};
  return graph;
}

TEST(WriteModel, ReadsBackAsTheSameStages) {
  graph::Graph graph = example();
  const auto written = write_model(graph);
  ASSERT_TRUE(written) << written.error().to_string();
  const graph::Graph again = read(std::as_bytes(std::span(*written)));
  graph.values[2].name = "x_2";
  EXPECT_EQ(stages_of(again), stages_of(graph));
}

TEST(WriteModel, SaysWhatIsLearnt) {
  using graph::Part;
  for (const Part part : {Part::number, Part::initializer, Part::parameter, Part::fixed}) {
    graph::Graph graph = example();
    graph.values[1].part = part;
    const auto written = write_model(graph, {}, true);
    ASSERT_TRUE(written) << written.error().to_string();
    const Bytes bytes = std::as_bytes(std::span(*written));
    const auto model = parse_model(bytes);
    ASSERT_TRUE(model);
    EXPECT_EQ(model->graph->nodes[0].op == "Constant", part == Part::number);
    EXPECT_EQ(model->graph->initializers.size(), part == Part::number ? 0u : 1u);
    const graph::Graph again = read(bytes);
    const auto w = std::ranges::find(again.values, "w", &graph::Value::name);
    ASSERT_NE(w, again.values.end());
    EXPECT_EQ(w->part, part);
    EXPECT_EQ(w->constant->bytes, graph.values[1].constant->bytes);
    graph.values[2].name = "x_2";
    EXPECT_EQ(stages_of(again), stages_of(graph));
  }
}

TEST(WriteModel, LeavesExternalDataWhereTheyAre) {
  graph::Graph graph = example();
  graph.files = {"weights.bin"};
  graph.values[1].constant->bytes.clear();
  graph.values[1].constant->file = 1;
  graph.values[1].constant->offset = 64;
  graph.values[1].constant->length = 12;
  const auto written = write_model(graph);
  ASSERT_TRUE(written) << written.error().to_string();
  const graph::Graph again = read(std::as_bytes(std::span(*written)));
  ASSERT_EQ(again.files, graph.files);
  const auto constant = std::ranges::find_if(
      again.values, [](const graph::Value& value) { return value.constant.has_value(); });
  ASSERT_NE(constant, again.values.end());
  EXPECT_EQ(constant->constant->file, 1);
  EXPECT_EQ(constant->constant->offset, 64u);
  EXPECT_EQ(constant->constant->length, 12u);
}

TEST(WriteModel, DeclaresTheOldestOpsetThatItsOperatorsNeed) {
  const auto opset_of = [](const char* op, const ops::Attributes& attributes, ir::DType dtype) {
    graph::Graph graph = example();
    graph.values[0].dtype = dtype;
    graph.nodes[0].def = ops::builtin_catalog().find("", op);
    graph.nodes[0].attributes = attributes;
    const auto written = write_model(graph);
    EXPECT_TRUE(written) << written.error().to_string();
    auto model = parse_model(std::as_bytes(std::span(*written)));
    EXPECT_TRUE(model) << model.error().to_string();
    return model->opsets.at(0).version;
  };
  const int64_t f16 = 10, f8 = 17;
  EXPECT_EQ(opset_of("LeakyRelu", {{"alpha", 0.25}}, ir::DType::f32), 21);
  EXPECT_EQ(opset_of("Cast", {{"to", f16}}, ir::DType::f32), 21);
  EXPECT_EQ(opset_of("Cast", {{"to", f8}}, ir::DType::f32), 28);
  EXPECT_EQ(opset_of("Cast", {{"to", f16}, {"round_mode", "up"}}, ir::DType::f32), 28);
  EXPECT_EQ(opset_of("Cast", {{"to", f16}}, ir::DType::bf16), 28);
  EXPECT_EQ(opset_of("Swish", {}, ir::DType::f32), 24);
}

TEST(WriteModel, KeepsRegionsAndWhatTheyCapture) {
  const Message branch =
      onnx::graph({{}, {node("Add", {"x", "w"}, {"sum"})}, {value("sum", {"2"})}});
  const Message other =
      onnx::graph({{}, {node("Neg", {"x"}, {"negative"})}, {value("negative", {"2"})}});
  const Message message = model(
      {{value("x", {"2"}), value("c", {}, 9)},
       {node("If", {"c"}, {"y"},
             {graph_attribute("then_branch", branch), graph_attribute("else_branch", other)})},
       {value("y", {"2"})},
       {floats("w", {2}, {1, 2})}});
  const graph::Graph graph = read(bytes_of(message));
  const auto written = write_model(graph, bytes_of(message));
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_EQ(stages_of(read(std::as_bytes(std::span(*written)))), stages_of(graph));
}

TEST(WriteModel, SaysWhatItCannotWrite) {
  graph::Graph graph = example();
  graph.values[1].constant->file = 0;
  graph.values[1].constant->length = 12;
  graph.values[1].constant->bytes.clear();
  const auto beyond = write_model(graph);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().to_string(), "\"w\": its bytes lie outside the model file");
  graph.groups.push_back({"boxes"});
  ASSERT_FALSE(write_model(graph));
}

}  // namespace
}  // namespace gossamer::onnx
