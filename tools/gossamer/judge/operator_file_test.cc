#include "gossamer/judge/operator_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "gossamer/judge/sample_file.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::create();
    ASSERT_TRUE(made) << made.error().to_string();
    folder_.emplace(*std::move(made));
  }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_->path() / name) << text;
    return folder_->path() / name;
  }
  std::optional<TemporaryFolder> folder_;
};

using OperatorFile = FileTest;
using SampleFile = FileTest;

constexpr const char* sums = R"(// A comment
[
  {
    "name": "sum", "operator": "Add",
    "cases": [
      {"name": "a", "inputs": [{"data": [1, 2], "dims": [2], "type": "float32"},
                               {"data": [0.5], "dims": [1], "type": "float32"}],
       "outputs": [{"data": [1.5, 2.5], "dims": [2], "type": "float32"}]}, /* and another */
      {"name": "a", "inputs": [{"data": [1], "dims": [], "type": "int32"},
                               {"data": [2], "dims": [], "type": "int32"}],
       "outputs": [{"data": [3], "dims": [], "type": "int32"}]},
    ]
  },
  {
    "name": "limits", "operator": "Clip", "opset": {"domain": "", "version": 13},
    "inputShapeDefinitions": "rankOnly",
    "cases": [
      {"name": "no minimum", "inputs": [{"data": [1, 9, 3], "dims": [3], "type": "int64"},
                                        {"data": null, "type": "int64"},
                                        {"data": [4], "dims": [], "type": "int64"}],
       "outputs": [{"data": [1, 4, 3], "dims": [3], "type": "int64"}]}
    ]
  }
]
)";

TEST_F(OperatorFile, NamesAreDistinct) {
  const auto names = list_operator_cases(write("x.jsonc", sums));
  ASSERT_TRUE(names) << names.error().to_string();
  EXPECT_EQ(*names, (std::vector<std::string>{"sum/a", "sum/a #2", "limits/no minimum"}));
}

TEST_F(OperatorFile, ACaseIsAModelOfOneNode) {
  const fs::path file = write("x.jsonc", sums);
  const auto content = load_operator_case(file, 1);
  ASSERT_TRUE(content) << content.error().to_string();
  const graph::Graph& graph = content->model.graph;
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].def->name, "Add");
  EXPECT_EQ(graph.values[graph.inputs[0]].dtype, ir::DType::i32);
  ASSERT_EQ(content->inputs.size(), 2u);
  EXPECT_EQ(element(content->inputs[1].data, 0), 2);
  ASSERT_EQ(content->expected.size(), 1u);
  EXPECT_TRUE(content->expected[0].tensor.data.shape.empty());
  EXPECT_EQ(element(content->expected[0].tensor.data, 0), 3);
}

TEST_F(OperatorFile, InputsWithoutDataAreAbsent) {
  const auto content = load_operator_case(write("x.jsonc", sums), 2);
  ASSERT_TRUE(content) << content.error().to_string();
  const graph::Graph& graph = content->model.graph;
  ASSERT_EQ(graph.inputs.size(), 2u);
  EXPECT_EQ(graph.values[graph.inputs[0]].name, "input_0");
  EXPECT_EQ(graph.values[graph.inputs[1]].name, "input_2");
  EXPECT_EQ(graph.dims.size(), 1u);  // rankOnly: the extent is a variable
}

TEST_F(OperatorFile, OtherJsonHasNoCases) {
  const auto names = list_operator_cases(write("x.jsonc", R"({"webgl": {"ops": ["abs.jsonc"]}})"));
  ASSERT_TRUE(names);
  EXPECT_TRUE(names->empty());
}

TEST_F(OperatorFile, ErrorsSayWhatIsWrong) {
  EXPECT_FALSE(list_operator_cases(write("x.jsonc", "[{")));
  const fs::path file =
      write("y.jsonc", R"([{"name": "t", "operator": "Abs", "cases": [{"name": "c",
      "inputs": [{"data": [1], "dims": [1], "type": "complex"}], "outputs": []}]}])");
  const auto content = load_operator_case(file, 0);
  ASSERT_FALSE(content);
  EXPECT_NE(content.error().to_string().find("complex"), std::string::npos);
}

TEST_F(SampleFile, ComparesSomeElementsAndTheWhole) {
  const auto expected = read_sample_file(write(
      "output_0.sample.json",
      R"({"name": "y", "dims": [2, 2], "dtype": "float32", "mean": 2.5, "std": 1.118033988749895,
          "min": 1.0, "max": 4.0, "index": [0, 3], "value": [1.0, 4.0]})"));
  ASSERT_TRUE(expected) << expected.error().to_string();
  ops::TensorData actual{ir::DType::f32, {2, 2}, {}, {}};
  actual.bytes.resize(16);
  const auto judged = [&](std::vector<float> values) {
    std::memcpy(actual.bytes.data(), values.data(), 16);
    return compare_sample(actual, *expected, tolerance_of(ir::DType::f32)).agrees;
  };
  EXPECT_TRUE(judged({1, 2, 3, 4}));
  EXPECT_FALSE(judged({1, 2, 3, 5}));  // a sampled element
  EXPECT_FALSE(judged({1, 2, 2, 4}));  // one between them: the mean tells
  actual.shape = {4};
  EXPECT_FALSE(judged({1, 2, 3, 4}));
}

TEST_F(SampleFile, IndicesStayInside) {
  EXPECT_FALSE(read_sample_file(write(
      "output_0.sample.json", R"({"name": "y", "dims": [2], "dtype": "float32", "mean": 0, "std": 0,
          "min": 0, "max": 0, "index": [2], "value": [0]})")));
}

}  // namespace
}  // namespace gossamer::command
