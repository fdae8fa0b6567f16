// Gradients of common layers by PyTorch 2.15 (float64): torch.nn.functional's operator on x(shape,
// a, m) = ((i * a + 1) % m) / 4 - 1, then y.backward(weights_of(y)) and each .grad.
#include <gtest/gtest.h>

#include "autodiff/run_gradient_test.h"

namespace gossamer::autodiff {
namespace {

using ops::TensorData;
using N = std::vector<int64_t>;
using Values = std::vector<double>;

TensorData x(const std::vector<int64_t>& shape, int64_t a, int64_t m) {
  const TensorData data{ir::DType::f64, shape, {}, {}};
  Values values;
  for (int64_t i = 0; i < data.element_count(); ++i)
    values.push_back(static_cast<double>((i * a + 1) % m) / 4 - 1);
  return data_of(ir::DType::f64, shape, values);
}

void expect(std::string_view op, ops::Attributes attributes, const std::vector<TensorData>& inputs,
            const std::vector<Values>& expected) {
  SCOPED_TRACE(op);
  const ops::OpDef& def = *ops::builtin_catalog().find("", op);
  ops::Case test{.name = "values", .attributes = std::move(attributes), .inputs = inputs};
  test.outputs = 1;
  for (const TensorData& input : inputs) test.shapes.push_back(input.shape);
  const GradientOfCase of = gradient_of_case(def, test, inputs);
  ASSERT_TRUE(of.made.status) << of.made.status.error().to_string();
  const auto memory = run_gradient(of);
  ASSERT_TRUE(memory) << memory.error().to_string();
  const auto found = numbers_of(of.made.outputs, *memory);
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(found[k].size(), expected[k].size());
    for (size_t i = 0; i < expected[k].size(); ++i)
      EXPECT_NEAR(found[k][i], expected[k][i], 2e-6) << "input " << k << " at " << i;
  }
}

TEST(GradientValues, ArePyTorchs) {
  expect("Conv",
         {{"strides", N{2, 2}}, {"pads", N{1, 1, 1, 1}}, {"dilations", N{2, 2}}, {"group", 2}},
         {x({1, 2, 4, 4}, 5, 9), x({2, 1, 2, 2}, 3, 7)},
         {{0, 0, 0, 0, 0, -0.15625, 0, -0.140625, 0, 0, 0, 0, 0, 0.421875, 0, 0.109375,
           0, 0, 0, 0, 0, 0.09375,  0, -0.109375, 0, 0, 0, 0, 0, 0.5,      0, -0.234375},
          {-0.4375, 0.5, 0.671875, -0.890625, 0.234375, -0.109375, -0.203125, 0.46875}});
  expect("ConvTranspose", {{"strides", N{2, 2}}, {"pads", N{1, 1, 1, 1}}},
         {x({1, 1, 2, 2}, 5, 9), x({1, 2, 3, 3}, 3, 7)},
         {{-1, 0.3125, -0.828125, -0.5625},
          {0.328125, 0.171875, -0.21875, 0.515625, 0.40625, -0.578125, 0.21875, 0.296875, -0.328125,
           0.046875, -0.609375, -0.03125, 0.046875, -0.28125, -0.109375, 0.03125, -0.640625,
           -0.046875}});
  expect("LayerNormalization", {}, {x({2, 4}, 5, 9), x({4}, 3, 7), x({4}, 4, 5)},
         {{0.212143, -0.0801434, -0.238541, 0.106541, -0.491538, -0.177905, 0.724467, -0.0550249},
          {0.253041, 0.348426, -0.0981738, -0.924343},
          {0.125, 0.5, -0.5, -0.125}});
  expect("SoftmaxCrossEntropyLoss", {}, {x({3, 4}, 5, 9), ops::int64s({3}, {1, 0, 3})},
         {{-0.0101566, 0.0687167, -0.0130413, -0.0455187, 0.0874913, -0.0582028, -0.0214116,
           -0.00787689, -0.0333411, -0.0122655, -0.0428108, 0.0884174}});
  expect("Attention", {}, {x({1, 1, 2, 3}, 5, 9), x({1, 1, 3, 3}, 3, 7), x({1, 1, 3, 2}, 4, 5)},
         {{0.00960322, 0.0127306, 0.00960322, -0.00112831, -0.0203746, -0.00112831},
          {0.025686, -0.0138104, 0.0237512, -0.0352747, 0.0174534, -0.0356426, 0.00958868,
           -0.00364299, 0.0118914},
          {-0.131106, 0.17798, -0.097366, 0.0858139, -0.0215283, -0.138794}});
}

}  // namespace
}  // namespace gossamer::autodiff
