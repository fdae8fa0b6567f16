#include "inspect/document.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cmath>
#include <cstring>

#include "inspect/histogram.h"
#include "inspect/page.h"
#include "onnx/model_writer.h"

namespace gossamer::inspect {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// x [batch, 4] -> Relu -> MatMul by a weight -> two operators that are unknown -> y; z = Relu(x).
// `declared`: the file states the shape of what the second one makes.
std::string model_with_unknown_operators(bool declared = false) {
  onnx::Message graph;
  graph.add(1, onnx::node("Relu", {"x"}, {"a"}, {}, "block.0/relu"));
  graph.add(1, onnx::node("MatMul", {"a", "w"}, {"b"}, {}, "block.0/product"));
  graph.add(1, onnx::node("Frobnicate", {"b"}, {"c"}, {}, "block.1/first", "com.example"));
  graph.add(1, onnx::node("Twist", {"c"}, {"d"}, {}, "block.1/second"));
  graph.add(1, onnx::node("Neg", {"d"}, {"y"}, {}, "block.1/third"));
  graph.add(1, onnx::node("Relu", {"x"}, {"z"}, {}, "other"));
  graph.text(2, "both");
  graph.add(5, onnx::floats("w", {4, 2}, {1, -1, 0, 0, 2, 3, 4, 5}));
  graph.add(11, onnx::value("x", {"batch", "4"}));
  graph.add(12, onnx::value("y", {"batch", "2"})).add(12, onnx::value("z", {"batch", "4"}));
  if (declared) graph.add(13, onnx::value("d", {"batch", "2"}));
  onnx::Message model;
  model.integer(1, 8).add(7, graph).add(8, onnx::opset(17)).add(8, onnx::opset(1, "com.example"));
  return model.bytes;
}

TEST(Examine, FindsAllUnknownOperatorsAndTheShapesBeforeThem) {
  const std::string model = model_with_unknown_operators();
  const auto examined = examine(bytes_of(model), nullptr, {});
  ASSERT_TRUE(examined.has_value()) << examined.error().to_string();
  const graph::Graph& graph = examined->subject.graph;
  ASSERT_EQ(graph.nodes.size(), 6u);
  std::vector<std::string> unknown;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (examined->problems[i]) unknown.push_back(graph.nodes[i].def->name);
  EXPECT_EQ(unknown, (std::vector<std::string>{"Frobnicate", "Twist"}));
  EXPECT_TRUE(examined->unchecked[4]);
  EXPECT_FALSE(examined->unchecked[5]);
  const graph::Value& product = graph.values[graph.nodes[1].outputs[0]];
  ASSERT_TRUE(product.shape_known);
  EXPECT_EQ(product.shape.size(), 2u);
  EXPECT_FALSE(graph.values[graph.nodes[2].outputs[0]].shape_known);
}

TEST(Examine, GoesOnWithShapesThatTheFileStates) {
  const std::string model = model_with_unknown_operators(true);
  const auto examined = examine(bytes_of(model), nullptr, {});
  ASSERT_TRUE(examined.has_value()) << examined.error().to_string();
  const graph::Graph& graph = examined->subject.graph;
  EXPECT_FALSE(examined->unchecked[4]);
  const graph::Value& last = graph.values[graph.nodes[4].outputs[0]];
  ASSERT_TRUE(last.shape_known);
  // It is the dimension of the input.
  EXPECT_TRUE(last.shape[0].same(graph.dims[0].var));
}

TEST(Document, HasExpressionsProblemsHistogramsAndKernels) {
  const std::string model = model_with_unknown_operators();
  auto examined = examine(bytes_of(model), nullptr, {});
  ASSERT_TRUE(examined.has_value());
  compiler::Options options;
  options.target = "webgpu";
  const View refused = view(examined->subject, options, {}, {});
  EXPECT_NE(refused.problem.find("Frobnicate"), std::string::npos) << refused.problem;
  rapidjson::Document json;
  json.Parse(to_document(*examined, std::span(&refused, 1)).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_STREQ(json["nodes"][2]["problem"]["message"].GetString(),
               "is an unknown operator of the domain com.example");
  EXPECT_TRUE(json["targets"][0].HasMember("problem"));
  const auto& product = json["values"][json["nodes"][1]["outputs"][0].GetUint()];
  EXPECT_STREQ(product["shape"][0].GetString(), "batch");
  EXPECT_EQ(product["shape"][1].GetInt(), 2);
  const auto& weight = json["values"][json["nodes"][1]["inputs"][1].GetUint()]["weight"];
  EXPECT_EQ(weight["elements"].GetInt(), 8);
  EXPECT_EQ(weight["zeros"].GetInt(), 2);
  EXPECT_EQ(weight["least"].GetDouble(), -1);
}

TEST(Document, HasWhatTargetsMakeOfTheModel) {
  onnx::Message graph;
  graph.add(1, onnx::node("Relu", {"x"}, {"y"}, {}, "relu")).text(2, "one");
  graph.add(11, onnx::value("x", {"batch", "4"})).add(12, onnx::value("y", {"batch", "4"}));
  const std::string model =
      onnx::Message().integer(1, 8).add(7, graph).add(8, onnx::opset(17)).bytes;
  auto examined = examine(bytes_of(model), nullptr, {});
  ASSERT_TRUE(examined.has_value());
  std::vector<View> views;
  for (const char* target : {"webgpu", "wasm"}) {
    compiler::Options options;
    options.target = target;
    views.push_back(view(examined->subject, options, {}, {.space = true, .points = 4}));
    ASSERT_EQ(views.back().problem, "");
  }
  const std::string profile = R"({"device": "wasm", "launches": []})";
  rapidjson::Document json;
  json.Parse(to_document(*examined, views, std::span(&profile, 1)).c_str());
  ASSERT_FALSE(json.HasParseError());
  const auto& webgpu = json["targets"][0];
  EXPECT_STREQ(webgpu["kernels"][0]["origin"].GetString(), "Relu \"relu\"");
  EXPECT_NE(std::string(webgpu["kernels"][0]["code"].GetString()).find("@compute"),
            std::string::npos);
  EXPECT_GT(webgpu["kernels"][0]["points"].Size(), 0u);
  EXPECT_TRUE(json["targets"][1]["kernels"][0].HasMember("ir"));
  // Each planned number of the manifest is an expression of dimensions.
  EXPECT_EQ(webgpu["plan"].Size(), webgpu["manifest"]["plan"]["values"].GetUint());
  EXPECT_STREQ(json["profiles"][0]["device"].GetString(), "wasm");
}

TEST(Histogram, CountsZerosAndWhatIsNotFinite) {
  stages::ConstantSource source;
  source.shape = {5};
  const std::vector<float> values = {0, 1, 3, NAN, INFINITY};
  const auto found = histogram_of(source, std::as_bytes(std::span(values)));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->elements, 5);
  EXPECT_EQ(found->zeros, 1);
  EXPECT_EQ(found->not_finite, 2);
  EXPECT_EQ(found->most, 3);
  EXPECT_DOUBLE_EQ(found->mean, 4.0 / 3);
  EXPECT_EQ(found->bins.front(), 1);
  EXPECT_EQ(found->bins.back(), 1);
}

TEST(Histogram, ReadsPackedIntegers) {
  stages::ConstantSource source;
  source.dtype = ir::DType::i4;
  source.shape = {4};
  source.packed = 2;
  const std::vector<uint8_t> words = {0x8f, 0x71};  // -1, -8, 1, 7
  const auto found = histogram_of(source, std::as_bytes(std::span(words)));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->least, -8);
  EXPECT_EQ(found->most, 7);
  EXPECT_DOUBLE_EQ(found->mean, -0.25);
}

TEST(Histogram, NeedsAllBytes) {
  stages::ConstantSource source;
  source.shape = {2, 2};
  const std::vector<float> values = {1, 2, 3};
  EXPECT_FALSE(histogram_of(source, std::as_bytes(std::span(values))).has_value());
}

TEST(Page, HoldsADocumentThatCannotEndItsElement) {
  const std::string page = "<script type=\"application/json\" id=\"view\"></script>end";
  const auto made = to_page(page, R"({"name": "</script>"})");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(*made,
            "<script type=\"application/json\" id=\"view\">{\"name\": \"\\u003c/script>\"}"
            "</script>end");
  EXPECT_FALSE(to_page("nothing", "{}").has_value());
  EXPECT_TRUE(is_profile(R"({"device": "wasm", "launches": []})"));
  EXPECT_FALSE(is_profile("{}"));
  EXPECT_FALSE(is_profile("no JSON"));
}

}  // namespace
}  // namespace gossamer::inspect
