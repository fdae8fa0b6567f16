#include "interp/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/test_case.h"

namespace gossamer::interp {
namespace {

using ops::Attributes;
using ops::Case;
using ops::OpDef;
using ops::TensorData;

const OpDef& entry(std::string_view name) { return *ops::builtin_catalog().find("", name); }

Result<std::vector<TensorData>> run_case(const OpDef& def, const Case& test, int outputs = 1) {
  std::vector<TensorData> inputs = ops::case_inputs(def, test);
  ops::DefinedCase made = ops::define_case(def, test, inputs, outputs);
  GS_TRY(made.status);
  Values values;
  for (const auto& [buffer, data] : made.memory) values[buffer.get()] = data;
  for (const auto& constant : made.builder->constants)
    values[constant.buffer.get()] = constant.data;
  GS_TRY(run_program(made.builder->program, values));
  std::vector<TensorData> results;
  for (const ops::Tensor& output : made.outputs) {
    if (output.bytes) {
      GS_ASSIGN(results.emplace_back(),
                ops::join_strings(values.at(output.bytes.get()), values.at(output.lengths.get())));
      continue;
    }
    results.push_back(values.at(output.buffer.get()));
    // What was evaluated while compiling is what the stages compute.
    if (!output.host) continue;
    for (size_t i = 0; i < output.host->size(); ++i) {
      auto known = ir::as_float((*output.host)[i]);
      EXPECT_TRUE(known);
      double value = element(results.back(), static_cast<int64_t>(i)).as_double();
      if (!std::isnan(value)) EXPECT_EQ(known.value_or(0), value) << def.name << " " << test.name;
    }
  }
  return results;
}

std::vector<float> floats_of(std::string_view name, const Case& test) {
  auto results = run_case(entry(name), test);
  EXPECT_TRUE(results) << (results ? "" : results.error().to_string());
  if (!results) return {};
  std::vector<float> values;
  for (int64_t i = 0; i < (*results)[0].element_count(); ++i) {
    values.push_back(static_cast<float>(element((*results)[0], i).as_double()));
  }
  return values;
}

class StagesTest : public testing::TestWithParam<const OpDef*> {};

std::vector<const OpDef*> all_entries() {
  std::vector<const OpDef*> entries;
  for (const OpDef& def : ops::builtin_catalog().entries()) entries.push_back(&def);
  return entries;
}

TEST_P(StagesTest, RunsEveryCase) {
  const OpDef& def = *GetParam();
  for (const Case& test : def.cases()) {
    auto results = run_case(def, test, ops::output_count_of(def, test));
    ASSERT_TRUE(results) << test.name << ": " << results.error().to_string();
  }
}
INSTANTIATE_TEST_SUITE_P(Entries, StagesTest, testing::ValuesIn(all_entries()),
                         [](const auto& info) {
                           std::string domain =
                               info.param->domain.empty() ? "" : info.param->domain + "_";
                           std::ranges::replace(domain, '.', '_');
                           return domain + info.param->name;
                         });

// Expected values below were worked out by hand from the operators' definitions.
using ops::floats;
using ops::int64s;
using V = std::vector<float>;

TEST(Stages, Contractions) {
  TensorData a = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(floats_of("MatMul", {.name = "", .inputs = {a, floats({2, 2}, {5, 6, 7, 8})}}),
            (V{19, 22, 43, 50}));
  EXPECT_EQ(floats_of("Gemm", {.name = "",
                               .attributes = {{"transB", 1}, {"alpha", 2.0}},
                               .inputs = {a, floats({1, 2}, {1, 1}), floats({}, {1})}}),
            (V{7, 15}));
  TensorData image = floats({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  TensorData ones = floats({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(floats_of("Conv", {.name = "", .inputs = {image, ones, floats({1}, {0.5f})}}),
            (V{8.5f, 12.5f, 20.5f, 24.5f}));
  Attributes same = {{"auto_pad", "SAME_UPPER"}};
  EXPECT_EQ(floats_of("Conv", {.name = "", .attributes = same, .inputs = {image, ones}}),
            (V{8, 12, 7, 20, 24, 13, 13, 15, 8}));
  EXPECT_EQ(
      floats_of("ConvTranspose",
                {.name = "", .inputs = {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {3, 4})}}),
      (V{3, 10, 8}));
}

TEST(Stages, Windows) {
  TensorData row = floats({1, 1, 4}, {1, 4, 2, 3});
  std::vector<int64_t> two = {2}, pads = {1, 1};
  EXPECT_EQ(
      floats_of("MaxPool", {.name = "", .attributes = {{"kernel_shape", two}}, .inputs = {row}}),
      (V{4, 4, 3}));
  Attributes padded = {{"kernel_shape", two}, {"pads", pads}};
  EXPECT_EQ(floats_of("AveragePool", {.name = "", .attributes = padded, .inputs = {row}}),
            (V{1, 2.5f, 3, 2.5f, 3}));
  padded["count_include_pad"] = int64_t{1};
  EXPECT_EQ(floats_of("AveragePool", {.name = "", .attributes = padded, .inputs = {row}}),
            (V{0.5f, 2.5f, 3, 2.5f, 1.5f}));
}

TEST(Stages, Movement) {
  TensorData x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(floats_of("Transpose", {.name = "", .inputs = {x}}), (V{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(floats_of("Slice", {.name = "",
                                .inputs = {x, int64s({1}, {2}), int64s({1}, {-9}), int64s({1}, {1}),
                                           int64s({1}, {-2})}}),
            (V{3, 1, 6, 4}));
  EXPECT_EQ(floats_of("Pad", {.name = "",
                              .attributes = {{"mode", "reflect"}},
                              .inputs = {floats({3}, {1, 2, 3}), int64s({2}, {2, 2})}}),
            (V{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(
      floats_of("Gather",
                {.name = "", .attributes = {{"axis", 1}}, .inputs = {x, int64s({2}, {-1, 0})}}),
      (V{3, 1, 6, 4}));
  EXPECT_EQ(floats_of("ScatterND", {.name = "",
                                    .attributes = {{"reduction", "add"}},
                                    .inputs = {floats({3}, {1, 1, 1}), int64s({3, 1}, {2, 2, 0}),
                                               floats({3}, {5, 6, 7})}}),
            (V{8, 1, 12}));
}

TEST(Stages, Reductions) {
  TensorData x = floats({2, 3}, {1, 5, 3, 4, 2, 6});
  EXPECT_EQ(floats_of("ReduceMean", {.name = "", .inputs = {x, int64s({1}, {1})}}), (V{3, 4}));
  EXPECT_EQ(floats_of("ArgMax", {.name = "", .attributes = {{"axis", 1}}, .inputs = {x}}),
            (V{1, 2}));
  EXPECT_EQ(floats_of("TopK", {.name = "", .inputs = {x, int64s({1}, {2})}}), (V{5, 3, 6, 4}));
  EXPECT_EQ(floats_of("CumSum", {.name = "", .inputs = {x, int64s({}, {1})}}),
            (V{1, 6, 9, 4, 6, 12}));
  V shares = floats_of("Softmax", {.name = "", .inputs = {floats({1, 3}, {0, std::log(2.0f), 0})}});
  EXPECT_FLOAT_EQ(shares[1], 0.5f);
}

TEST(Stages, Resampling) {
  Attributes nearest = {{"coordinate_transformation_mode", "asymmetric"},
                        {"nearest_mode", "floor"}};
  TensorData row = floats({1, 1, 2}, {1, 3});
  std::vector<TensorData> twice = {row, {}, floats({3}, {1, 1, 2})};
  EXPECT_EQ(floats_of("Resize", {.name = "", .attributes = nearest, .inputs = twice}),
            (V{1, 1, 3, 3}));
  EXPECT_EQ(floats_of("Resize", {.name = "", .attributes = {{"mode", "linear"}}, .inputs = twice}),
            (V{1, 1.5f, 2.5f, 3}));
}

TEST(Stages, Quantisation) {
  EXPECT_EQ(floats_of("QuantizeLinear", {.name = "",
                                         .inputs = {floats({6}, {0, 2, 3, 1000, -254, -1000}),
                                                    floats({}, {2}), ops::uint8s({}, {128})}}),
            (V{128, 129, 130, 255, 1, 0}));
  EXPECT_EQ(
      floats_of("MatMulInteger", {.name = "",
                                  .inputs = {ops::uint8s({1, 2}, {11, 7}),
                                             ops::uint8s({2, 1}, {1, 4}), ops::uint8s({}, {12})}}),
      (V{-21}));
}

// What ONNX Runtime 1.31 gives beyond the letter of ONNX (docs/specs/semantics.md).
TEST(Stages, LenientInputs) {
  const TensorData cube = floats({2, 2, 1}, {1, 5, 3, 4});
  EXPECT_EQ(floats_of("ReduceSum", {.name = "", .inputs = {cube, int64s({2}, {1, -2})}}),
            (V{6, 7}));
  EXPECT_EQ(floats_of("Squeeze", {.name = "", .inputs = {cube, int64s({2}, {2, -1})}}),
            (V{1, 5, 3, 4}));
  EXPECT_EQ(floats_of("ReduceMax", {.name = "", .inputs = {floats({}, {7}), int64s({1}, {0})}}),
            (V{7}));
  EXPECT_EQ(floats_of("ArgMin", {.name = "", .inputs = {floats({}, {7})}}), (V{0}));
  EXPECT_EQ(floats_of("Concat", {.name = "",
                                 .attributes = {{"axis", 0}},
                                 .inputs = {floats({0, 5}, {}), floats({1, 2}, {1, 2})}}),
            (V{1, 2}));
  EXPECT_EQ(
      floats_of("PRelu", {.name = "", .inputs = {floats({2}, {-1, 1}), floats({2, 1}, {2, 3})}}),
      (V{-2, 1, -3, 1}));
  EXPECT_EQ(floats_of("Gemm",
                      {.name = "", .inputs = {floats({2}, {1, 2}), floats({2, 2}, {1, 2, 3, 4})}}),
            (V{7, 10}));
  const TensorData samples = floats({1, 4}, {1, 2, 3, 4}), window = floats({2}, {1, 1});
  EXPECT_EQ(floats_of("STFT", {.name = "", .inputs = {samples, int64s({1}, {2}), window}}),
            floats_of("STFT", {.name = "",
                               .inputs = {floats({1, 4, 1}, {1, 2, 3, 4}), int64s({}, {2}),
                                          floats({2}, {1, 1})}}));
  auto silence =
      run_case(entry("DynamicQuantizeLinear"), {.name = "", .inputs = {floats({2}, {0, 0})}}, 3);
  ASSERT_TRUE(silence);
  EXPECT_EQ(element((*silence)[1], 0).as_double(), 1);
  auto boxes = run_case(entry("NonMaxSuppression"), {.name = "", .shapes = {{1, 3, 4}, {1, 1, 3}}});
  ASSERT_TRUE(boxes);
  EXPECT_EQ((*boxes)[0].shape, (std::vector<int64_t>{0, 3}));
}

// Classes (output 0) and scores (output 1) of an operator of ai.onnx.ml for these scores.
std::pair<V, V> classified(std::string_view name, const Attributes& attributes, const V& scores) {
  const auto count = static_cast<int64_t>(scores.size());
  const auto results =
      run_case(*ops::builtin_catalog().find("ai.onnx.ml", name),
               {.name = "", .attributes = attributes, .inputs = {floats({count, 1}, scores)}}, 2);
  EXPECT_TRUE(results) << (results ? "" : results.error().to_string());
  std::pair<V, V> made;
  if (!results) return made;
  for (int64_t i = 0; i < (*results)[0].element_count(); ++i)
    made.first.push_back(static_cast<float>(element((*results)[0], i).as_double()));
  for (int64_t i = 0; i < (*results)[1].element_count(); ++i)
    made.second.push_back(static_cast<float>(element((*results)[1], i).as_double()));
  return made;
}

// The scores are what ONNX Runtime 1.31 gives.
TEST(Stages, OneScoreOfTwoClasses) {
  using D = std::vector<double>;
  using N = std::vector<int64_t>;
  const N labels{5, 6};
  Attributes line = {{"coefficients", D{1}}, {"intercepts", D{0}}, {"classlabels_ints", labels}};
  auto [classes, scores] = classified("LinearClassifier", line, {-2, 0.25f});
  EXPECT_EQ(classes, (V{5, 6}));
  EXPECT_EQ(scores, (V{3, -2, 0.75f, 0.25f}));

  // One node: up to 0 the first leaf, else the second.
  const auto tree = [&](int64_t id, D weights, D base) {
    return Attributes{{"nodes_treeids", N{0, 0, 0}},
                      {"nodes_nodeids", N{0, 1, 2}},
                      {"nodes_featureids", N{0, 0, 0}},
                      {"nodes_values", D{0, 0, 0}},
                      {"nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "LEAF", "LEAF"}},
                      {"nodes_truenodeids", N{1, 0, 0}},
                      {"nodes_falsenodeids", N{2, 0, 0}},
                      {"class_treeids", N{0, 0}},
                      {"class_nodeids", N{1, 2}},
                      {"class_ids", N{id, id}},
                      {"class_weights", std::move(weights)},
                      {"base_values", std::move(base)},
                      {"classlabels_int64s", labels}};
  };
  using Made = std::pair<V, V>;
  const auto made = [&](const Attributes& attributes) {
    return classified("TreeEnsembleClassifier", attributes, {-1, 1});
  };
  EXPECT_EQ(made(tree(0, {0.25, 0.75}, {})), Made({5, 6}, {0.75f, 0.25f, 0.25f, 0.75f}));
  EXPECT_EQ(made(tree(0, {-0.5, 0.25}, {})), Made({5, 6}, {0.5f, -0.5f, -0.25f, 0.25f}));
  EXPECT_EQ(made(tree(1, {-0.5, 0.25}, {})), Made({5, 6}, {0, -0.5f, 0, 0.25f}));
  EXPECT_EQ(made(tree(0, {-0.5, 0.25}, {1})), Made({6, 6}, {-0.5f, 0.5f, -1.25f, 1.25f}));
}

TEST(Stages, Features) {
  const auto of = [](std::string_view name, const Case& test) {
    const auto results = run_case(*ops::builtin_catalog().find("ai.onnx.ml", name), test);
    EXPECT_TRUE(results);
    V values;
    for (int64_t i = 0; results && i < (*results)[0].element_count(); ++i)
      values.push_back(static_cast<float>(element((*results)[0], i).as_double()));
    return values;
  };
  const TensorData row = floats({1, 3}, {1, -2, 0.5f});
  EXPECT_EQ(of("Normalizer", {.name = "", .attributes = {{"norm", "MAX"}}, .inputs = {row}}),
            (V{1, -2, 0.5f}));
  EXPECT_EQ(of("ArrayFeatureExtractor", {.name = "", .inputs = {row, int64s({2, 1}, {2, 0})}}),
            (V{0.5f, 1}));
}

}  // namespace
}  // namespace gossamer::interp
