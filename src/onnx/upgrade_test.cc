#include "onnx/upgrade.h"

#include <gtest/gtest.h>

#include "ir/scalar.h"
#include "onnx/model_writer.h"
#include "onnx/reader.h"

namespace gossamer::onnx {
namespace {

using Names = std::vector<std::string>;

struct Upgraded {
  graph::Graph graph;
  Names ops;

  // The elements of a constant input.
  std::vector<double> input(size_t node, size_t index) const {
    const graph::Node& one = graph.nodes[node];
    if (index >= one.inputs.size() || one.inputs[index] == graph::no_value) return {};
    const auto& constant = graph.values[one.inputs[index]].constant;
    if (!constant) return {};
    std::vector<double> values;
    size_t size = static_cast<size_t>(ir::byte_size(constant->dtype));
    for (size_t at = 0; at < constant->bytes.size(); at += size) {
      values.push_back(ir::read_scalar(constant->dtype, &constant->bytes[at]).as_double());
    }
    return values;
  }
  bool has(size_t node, const char* attribute) const {
    return graph.nodes[node].attributes.contains(attribute);
  }
  std::string text(size_t node, const char* attribute) const {
    return std::get<std::string>(graph.nodes[node].attributes.at(attribute));
  }
  int64_t integer(size_t node, const char* attribute) const {
    return std::get<int64_t>(graph.nodes[node].attributes.at(attribute));
  }
};

using Values = std::vector<double>;

Upgraded upgraded(int version, const Message& node, const std::vector<Message>& initializers = {},
                  const std::vector<std::string>& shape = {"1", "3", "8", "8"}, int type = 1) {
  Message message =
      model({{value("x", shape, type)}, {node}, {value("y", {})}, initializers}, version);
  auto graph = read_model(bytes_of(message));
  EXPECT_TRUE(graph.has_value()) << (graph ? "" : graph.error().to_string());
  Upgraded result;
  if (!graph) return result;
  result.graph = std::move(*graph);
  for (const graph::Node& one : result.graph.nodes) result.ops.push_back(one.def->name);
  return result;
}

TEST(Upgrade, AttributesBecomeInputs) {
  std::vector<int64_t> axes{1, 2};
  auto squeeze = upgraded(11, node("Squeeze", {"x"}, {"y"}, {attribute("axes", axes)}));
  EXPECT_EQ(squeeze.input(0, 1), (Values{1, 2}));
  EXPECT_FALSE(squeeze.has(0, "axes"));
  auto mean = upgraded(17, node("ReduceMean", {"x"}, {"y"}, {attribute("axes", axes)}));
  EXPECT_EQ(mean.input(0, 1), (Values{1, 2}));
  auto slice = upgraded(9, node("Slice", {"x"}, {"y"},
                                {attribute("starts", std::vector<int64_t>{1}),
                                 attribute("ends", std::vector<int64_t>{5})}));
  EXPECT_EQ(slice.input(0, 1), Values{1});
  EXPECT_EQ(slice.input(0, 2), Values{5});
  EXPECT_EQ(slice.input(0, 3), Values{});
  auto clip = upgraded(6, node("Clip", {"x"}, {"y"}, {attribute("max", 6.0f)}));
  EXPECT_EQ(clip.input(0, 1), Values{});
  EXPECT_EQ(clip.input(0, 2), Values{6});
  auto pad =
      upgraded(2, node("Pad", {"x"}, {"y"},
                       {attribute("pads", std::vector<int64_t>(8, 1)), attribute("value", 2.0f)}));
  EXPECT_EQ(pad.input(0, 1), Values(8, 1));
  EXPECT_EQ(pad.input(0, 2), Values{2});
  auto reshape = upgraded(1, node("Reshape", {"x"}, {"y"},
                                  {attribute("shape", std::vector<int64_t>{0, -1}),
                                   attribute("consumed_inputs", std::vector<int64_t>{0})}));
  EXPECT_EQ(reshape.input(0, 1), (Values{0, -1}));
  EXPECT_FALSE(reshape.has(0, "consumed_inputs"));
}

TEST(Upgrade, ConstantsTakeTheTypeOfTheInput) {
  auto clip = upgraded(6, node("Clip", {"x"}, {"y"}, {attribute("max", 6.0f)}), {}, {"4"}, 10);
  const graph::Node& one = clip.graph.nodes[0];
  EXPECT_EQ(clip.graph.values[one.inputs[2]].dtype, ir::DType::f16);
  EXPECT_EQ(clip.input(0, 2), Values{6});
}

TEST(Upgrade, NewestFormsStayAsTheyAre) {
  auto softmax = upgraded(13, node("Softmax", {"x"}, {"y"}, {attribute("axis", int64_t{1})}));
  EXPECT_EQ(softmax.ops, Names{"Softmax"});
  EXPECT_EQ(softmax.integer(0, "axis"), 1);
}

TEST(Upgrade, OldSoftmaxCoversTheTrailingAxes) {
  auto last = upgraded(11, node("Softmax", {"x"}, {"y"}), {}, {"2", "5"});
  EXPECT_EQ(last.ops, Names{"Softmax"});
  EXPECT_EQ(last.integer(0, "axis"), -1);
  auto flat = upgraded(11, node("Softmax", {"x"}, {"y"}));
  EXPECT_EQ(flat.ops, (Names{"Shape", "Flatten", "Softmax", "Reshape"}));
  EXPECT_EQ(flat.integer(1, "axis"), 1);
  EXPECT_EQ(flat.graph.values[flat.graph.outputs[0]].name, "y");
}

TEST(Upgrade, UpsampleBecomesResize) {
  auto resize = upgraded(7, node("Upsample", {"x"}, {"y"},
                                 {attribute("scales", std::vector<float>{1, 1, 2, 2}),
                                  attribute("mode", std::string_view("bilinear"))}));
  EXPECT_EQ(resize.ops, Names{"Resize"});
  EXPECT_EQ(resize.text(0, "mode"), "linear");
  EXPECT_EQ(resize.text(0, "coordinate_transformation_mode"), "asymmetric");
  EXPECT_EQ(resize.input(0, 2), (Values{1, 1, 2, 2}));
  EXPECT_EQ(resize.graph.nodes[0].inputs[1], graph::no_value);
  auto empty = upgraded(11, node("Resize", {"x", "roi", "scales"}, {"y"}),
                        {floats("roi", {0}, {}), floats("scales", {4}, {1, 1, 2, 2})});
  EXPECT_EQ(empty.graph.nodes[0].inputs[1], graph::no_value);
}

// Axes that grow take the element before, axes that shrink the one after.
TEST(Upgrade, Resize10GrowsAndShrinksApart) {
  const auto of = [](std::vector<float> scales) {
    return upgraded(10, node("Resize", {"x", "scales"}, {"y"}),
                    {floats("scales", {4}, std::move(scales))});
  };
  const auto grows = of({1, 1, 2, 1});
  EXPECT_EQ(grows.ops, Names{"Resize"});
  EXPECT_EQ(grows.text(0, "nearest_mode"), "floor");
  const auto shrinks = of({1, 1, 1, 0.5f});
  EXPECT_EQ(shrinks.ops, Names{"Resize"});
  EXPECT_EQ(shrinks.text(0, "nearest_mode"), "ceil");
  const auto both = of({1, 1, 2, 0.5f});
  EXPECT_EQ(both.ops, (Names{"Max", "Resize", "Min", "Resize"}));
  EXPECT_EQ(both.text(1, "nearest_mode"), "floor");
  EXPECT_EQ(both.text(3, "nearest_mode"), "ceil");
}

TEST(Upgrade, AxisBroadcastUnsqueezes) {
  auto add = upgraded(6,
                      node("Add", {"x", "b"}, {"y"},
                           {attribute("broadcast", int64_t{1}), attribute("axis", int64_t{1})}),
                      {floats("b", {3}, {1, 2, 3})});
  EXPECT_EQ(add.ops, (Names{"Unsqueeze", "Add"}));
  EXPECT_EQ(add.input(0, 1), (Values{1, 2}));
}

TEST(Upgrade, CastNamesAndWindowsOperators) {
  auto cast = upgraded(1, node("Cast", {"x"}, {"y"}, {attribute("to", std::string_view("INT64"))}));
  EXPECT_EQ(cast.integer(0, "to"), 7);
  auto scaler =
      upgraded(7, node("ImageScaler", {"x"}, {"y"},
                       {attribute("scale", 0.5f), attribute("bias", std::vector<float>{1, 2, 3})}));
  EXPECT_EQ(scaler.ops, (Names{"Unsqueeze", "Mul", "Add"}));
}

TEST(Upgrade, SplitCountsItsOutputs) {
  auto split = upgraded(11, node("Split", {"x"}, {"y", "z", "w"}, {attribute("axis", int64_t{1})}));
  EXPECT_EQ(split.integer(0, "num_outputs"), 3);
}

}  // namespace
}  // namespace gossamer::onnx
