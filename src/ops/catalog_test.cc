// Every entry of the catalog defines each of its cases, with known shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/rewrite.h"
#include "ops/test_case.h"

namespace gossamer::ops {
namespace {

using stages::Stage;

class CatalogTest : public testing::TestWithParam<const OpDef*> {};

std::vector<const OpDef*> all_entries() {
  std::vector<const OpDef*> entries;
  for (const OpDef& def : builtin_catalog().entries()) entries.push_back(&def);
  return entries;
}

TEST_P(CatalogTest, IsComplete) {
  const OpDef& def = *GetParam();
  EXPECT_FALSE(def.doc.text().empty());
  EXPECT_FALSE(def.outputs.empty());
  EXPECT_FALSE(def.cases().empty());
  EXPECT_EQ(builtin_catalog().find(def.domain, def.name), &def);
  std::set<std::string> names;
  for (const Case& test : def.cases()) EXPECT_TRUE(names.insert(test.name).second) << test.name;
}

TEST_P(CatalogTest, DefinesItsCases) {
  const OpDef& def = *GetParam();
  for (const Case& test : def.cases()) {
    SCOPED_TRACE(test.name);
    std::vector<TensorData> inputs = case_inputs(def, test);
    DefinedCase made = define_case(def, test, inputs, output_count_of(def, test));
    ASSERT_TRUE(made.status) << made.status.error().to_string();
    // Extents are numbers, but for those that are read from data.
    std::set<const ir::VarNode*> read;
    for (const Var& variable : variables_of(made.builder->program)) read.insert(variable.get());
    for (const Tensor& output : made.outputs) {
      for (const Expr& extent : output.shape()) EXPECT_TRUE(ir::as_int(extent) || !read.empty());
    }
    EXPECT_TRUE(made.builder->checks.empty() || !read.empty());
    std::set<std::string> stage_names;
    std::set<const ir::BufferNode*> written;
    for (const Stage& stage : stages_of(made.builder->program)) {
      EXPECT_TRUE(stage_names.insert(stage.name).second) << stage.name;
      // The states and rows of a loop are written before it and in each round.
      EXPECT_TRUE(written.insert(stage.output.get()).second || !read.empty());
      EXPECT_FALSE(print(stage).empty());
      EXPECT_EQ(stage.origin, test.name);
      if (stage.view) EXPECT_EQ(inputs_of(stage).size(), 1u);
    }
  }
}

// Other shapes and types than a case has: an error or a definition, never a stop.
TEST_P(CatalogTest, SurvivesOtherInputs) {
  const OpDef& def = *GetParam();
  for (const Case& test : def.cases()) {
    std::vector<TensorData> inputs = case_inputs(def, test);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<int64_t> shape = inputs[i].shape;
      if (shape == std::vector<int64_t>{-1}) continue;
      std::vector<std::vector<int64_t>> shapes = {{}, {1}, {0}, {3}, {2, 3}, {1, 1, 1}, shape};
      shapes.back().push_back(2);
      shapes.push_back(shape);
      shapes.back().insert(shapes.back().begin(), 1);
      for (size_t k = 0; k < shape.size(); ++k) {
        shapes.push_back(shape);
        ++shapes.back()[k];
        shapes.push_back(shape);
        shapes.back()[k] = 0;
      }
      const InputDef& input = input_of(def, test, i);
      for (unsigned type = 0; type <= static_cast<unsigned>(DType::boolean); ++type) {
        if (!(input.types & (1u << type))) continue;
        for (const auto& other : shapes) {
          Case changed = test;
          changed.inputs.resize(inputs.size());
          std::vector<TensorData> mutated = inputs;
          TensorData& data = mutated[i];
          data = {static_cast<DType>(type), other, {}, {}};
          data.bytes.resize(static_cast<size_t>(data.element_count() * ir::byte_size(data.dtype)));
          DefinedCase made = define_case(def, changed, mutated);
          if (!made.status) EXPECT_FALSE(made.status.error().message.empty());
        }
      }
    }
    // One input fewer, and attributes of absurd values.
    if (!inputs.empty()) {
      std::vector<TensorData> fewer(inputs.begin(), inputs.end() - 1);
      define_case(def, test, fewer);
    }
    for (const AttributeDef& attribute : def.attributes) {
      for (int64_t value : {-1000, -1, 0, 3, 1000}) {
        Case changed = test;
        Attribute& place = changed.attributes[attribute.name];
        bool list = std::holds_alternative<std::vector<int64_t>>(place) ||
                    std::holds_alternative<std::vector<int64_t>>(attribute.fallback);
        place = list ? Attribute(std::vector<int64_t>{value, value}) : Attribute(value);
        define_case(def, changed, inputs);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Entries, CatalogTest, testing::ValuesIn(all_entries()),
                         [](const auto& info) {
                           std::string name = info.param->domain;
                           std::ranges::replace(name, '.', '_');
                           return name.empty() ? info.param->name : name + "_" + info.param->name;
                         });

// `name`: with its domain, if it is not ONNX's.
std::string error_of(std::string_view name, const Case& test) {
  const size_t dot = name.rfind('.');
  const OpDef* def = dot == std::string_view::npos
                         ? builtin_catalog().find("", name)
                         : builtin_catalog().find(name.substr(0, dot), name.substr(dot + 1));
  DefinedCase made = define_case(*def, test, case_inputs(*def, test));
  return made.status ? "no error" : made.status.error().to_string();
}

TEST(CatalogErrors, NameTheNodeAndBothShapes) {
  EXPECT_EQ(error_of("Conv", {.name = "features.3", .shapes = {{1, 4, 5, 5}, {2, 3, 3, 3}}}),
            "[Conv] \"features.3\": weight has 3 input channels, input has 4");
  EXPECT_EQ(error_of("MatMul", {.name = "m", .shapes = {{2, 3}, {4, 5}}}),
            "[MatMul] \"m\": A has 3 columns, B has 4 rows");
  EXPECT_EQ(error_of("Add", {.name = "a", .shapes = {{2, 3}, {4}}}),
            "[Add] \"a\": shapes [2, 3] and [4] do not broadcast");
  EXPECT_EQ(error_of("Softmax", {.name = "s", .shapes = {{2, 3}}, .attributes = {{"axis", 2}}}),
            "[Softmax] \"s\": `axis` 2 is out of range for rank 2");
  EXPECT_EQ(error_of("Add", {.name = "a", .shapes = {{2}}}), "[Add] \"a\": input 1 (B) is missing");
  EXPECT_EQ(error_of("Add", {.name = "a", .shapes = {{2}}, .inputs = {{}, int64s({2}, {1, 2})}}),
            "[Add] \"a\": inputs have types f32 and i64 (they must be equal; insert a Cast)");
  EXPECT_EQ(error_of("Relu", {.name = "r", .shapes = {{2}}, .attributes = {{"alpha", 1.0}}}),
            "[Relu] \"r\": attribute `alpha` is unknown in version 14");
  EXPECT_EQ(
      error_of("ReduceLogSumExp", {.name = "r", .shapes = {{2, 3}, {2}}, .dtype = DType::i64}),
      "[ReduceLogSumExp] \"r\": `axes` must be known when compiling (make it a constant, or "
      "compute "
      "it from shapes)");
  EXPECT_EQ(
      error_of("Reshape", {.name = "r", .shapes = {{2, 3}}, .inputs = {{}, int64s({1}, {5})}}),
      "[Reshape] \"r\": input of shape [2, 3] does not fit shape [5]");
}

// Shapes that ONNX forbids though each read would find an element.
TEST(CatalogErrors, ParametersThatDoNotFit) {
  std::vector<int64_t> absent = {-1};
  auto refuses = [](std::string_view op, const Case& test, std::string_view words) {
    EXPECT_NE(error_of(op, test).find(words), std::string::npos) << error_of(op, test);
  };
  Case split = {.name = "s", .shapes = {{11}}, .attributes = {{"num_outputs", 5}}};
  refuses("Split", split, "5 parts for 1 outputs");
  Case experts = {.name = "m", .shapes = {{3, 8}, {3, 4}, {4, 10, 8}, absent, {4, 8, 5}}};
  experts.attributes = {{"activation_type", "swiglu"}};
  refuses("com.microsoft.MoE", experts, "`swiglu_fusion` is 0, and there is no third layer");
  Case dots = {.name = "e", .shapes = {{3, 3, 3}, {3, 3, 3, 3}}};
  dots.attributes = {{"equation", "...ii,...jj->...ij"}};
  refuses("Einsum", dots, "\"...\" is 1 axes of one input and 2 of another");
  dots.attributes = {{"equation", "abc,.bcd"}};
  refuses("Einsum", dots, "other names than letters");
  dots.attributes = {{"equation", "abc,abcd->dd"}};
  refuses("Einsum", dots, "axis d twice");
  Case quantized = {.name = "q", .shapes = {{6, 2}, {2, 2}}, .attributes = {{"block_size", 3}}};
  quantized.attributes["axis"] = 0;
  quantized.inputs = {{}, {}, int8s({1, 2}, {0, 0})};
  refuses("QuantizeLinear", quantized, "y_zero_point is [1, 2], it should be [2, 2]");
  quantized = {.name = "q", .shapes = {{3, 5}, {3, 3}}, .attributes = {{"block_size", 3}}};
  refuses("QuantizeLinear", quantized, "5 in blocks of 3 need 2");
  quantized = {.name = "q", .shapes = {{2}, {}}, .dtype = DType::u8};
  quantized.inputs = {{}, floats({}, {1}), int8s({}, {0})};
  refuses("DequantizeLinear", quantized, "the zero point has type i8, x has u8");
  refuses("SoftmaxCrossEntropyLoss",
          {.name = "l", .shapes = {{2, 4}}, .inputs = {{}, int64s({1}, {0})}},
          "target is [1], it should be [2]");
  refuses("InstanceNormalization", {.name = "n", .shapes = {{2, 3, 4}, {4}, {3}}},
          "scale is [4], it should be [3]");
  refuses("LSTM", {.name = "r", .shapes = {{3, 2, 4}, {1, 20, 4}, {1, 20, 5}, {1, 41}}},
          "B is [1, 41], it should be [1, 40]");
  refuses("ScatterND",
          {.name = "s", .shapes = {{8}, {}, {3}}, .inputs = {{}, int64s({4, 1}, {0, 1, 2, 3})}},
          "updates is [3], it should be [4]");
  // Lenient shapes are no excuse for wrong ones.
  refuses("STFT", {.name = "s", .shapes = {{20}, {}, {8}}, .inputs = {{}, int64s({}, {4})}},
          "the signal is [batch, samples] or [batch, samples, 1 or 2]");
  refuses("STFT", {.name = "s", .shapes = {{1, 20}, {}, {2, 4}}, .inputs = {{}, int64s({}, {4})}},
          "the window [frame]");
  refuses("ReduceSum", {.name = "r", .shapes = {{}}, .inputs = {{}, int64s({1}, {1})}},
          "axis 1 is out of range for rank 0");
  refuses("Unsqueeze", {.name = "u", .shapes = {{3}}, .inputs = {{}, int64s({2}, {0, 0})}},
          "an axis is given twice");
  refuses("Concat", {.name = "c", .shapes = {{0, 5}, {2, 3}, {2, 4}}, .attributes = {{"axis", 0}}},
          "inputs 1 and 2 have extents 3 and 4 on axis 1");
  refuses("RMSNormalization", {.name = "n", .shapes = {{2, 7}, {8}}}, "does not broadcast");
}

// What no definition checks: a stage that would read past the end of an input.
TEST(CatalogErrors, ReadsPastTheEnd) {
  auto rows = [](std::vector<int64_t> scale) {
    OpDef def{.name = "Scale",
              .doc = "x times a number a column.",
              .since = 1,
              .inputs = {{"x", any_float}, {"scale", any_float}},
              .define = [](Builder& b) -> Result<> {
                const Tensor &x = b.input(0), &by = b.input(1);
                b.output(0, b.compute("scale", x.dtype(), x.shape(),
                                      [&](Point p) { return x.at(p) * by({p[1]}); }));
                return {};
              },
              .cases = {}};
    const Case test{.name = "s", .shapes = {{2, 4}, std::move(scale)}};
    DefinedCase made = define_case(def, test, case_inputs(def, test));
    return made.status ? "" : made.status.error().message;
  };
  EXPECT_EQ(rows({4}), "");
  EXPECT_EQ(rows({5}), "");  // a definition may want only the first elements
  EXPECT_NE(rows({3}).find("has 3 elements along axis 0, elements 0 to 3 are read"),
            std::string::npos);
}

}  // namespace
}  // namespace gossamer::ops
