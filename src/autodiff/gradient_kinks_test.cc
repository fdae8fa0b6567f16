// Gradients at kinks and where formulas may overflow: what docs/specs/semantics.md states, and no
// NaN for any operator of the catalog.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "autodiff/run_gradient_test.h"

namespace gossamer::autodiff {
namespace {

using ops::Case;
using ops::OpDef;
using ops::TensorData;

using Numbers = std::vector<float>;

struct Point {
  std::vector<std::vector<double>> outputs;    // those of floats
  std::vector<std::vector<double>> gradients;  // of GradientOfCase::xs, all weights being 1
};

TensorData filled(ir::DType dtype, const std::vector<int64_t>& shape, double value) {
  const TensorData data{dtype, shape, {}, {}};
  return data_of(dtype, shape,
                 std::vector<double>(static_cast<size_t>(data.element_count()), value));
}

std::optional<Point> evaluate(const OpDef& def, const Case& test,
                              const std::vector<TensorData>& inputs) {
  const GradientOfCase of = gradient_of_case(def, test, inputs);
  if (!of.made.status) return std::nullopt;
  const auto memory = run_gradient(of, [&](interp::Values& values) {
    for (const ops::Tensor& weights : of.weights) {
      if (!weights) continue;
      TensorData& data = values[weights.buffer.get()];
      data = filled(data.dtype, data.shape, 1);
    }
  });
  if (!memory) return std::nullopt;
  return Point{numbers_of(of.outputs, *memory), numbers_of(of.made.outputs, *memory)};
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

Numbers read_numbers(const std::string& text) {
  Numbers values;
  for (const std::string& part : split(text, ',')) values.push_back(std::stof(part));
  return values;
}

// An operator's name and perhaps `attribute=number`.
void check_row(const std::string& title, const Numbers& at, const Numbers& expected) {
  SCOPED_TRACE(title);
  std::istringstream words(title);
  std::string name, given;
  words >> name >> given;
  const OpDef* def = ops::builtin_catalog().find("", name);
  ASSERT_TRUE(def);
  ASSERT_EQ(at.size(), expected.size());
  Case test{.name = "kinks", .outputs = 1};
  std::vector<TensorData> inputs = {ops::floats({static_cast<int64_t>(at.size())}, at)};
  if (const auto parts = split(given, '='); parts.size() == 2) {
    const float value = std::stof(parts[1]);
    if (name == "PRelu") {
      inputs.push_back(ops::floats({1}, {value}));
    } else {
      test.attributes = {{parts[0], static_cast<double>(value)}};
    }
  }
  test.inputs = inputs;
  for (const TensorData& input : inputs) test.shapes.push_back(input.shape);
  const auto found = evaluate(*def, test, inputs);
  ASSERT_TRUE(found);
  // No gradient at all is 0.
  const auto gradient =
      found->gradients.empty() ? std::vector<double>(at.size()) : found->gradients[0];
  for (size_t i = 0; i < at.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(gradient[i])) << "at " << at[i] << ": " << gradient[i];
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(gradient[i], expected[i]) << "at " << at[i];
    } else {
      EXPECT_NEAR(gradient[i], expected[i], 1e-6) << "at " << at[i];
    }
  }
}

TEST(GradientKinks, AreWhatTheDocumentStates) {
  std::ifstream document("docs/specs/semantics.md");
  int rows = 0;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 4) {
      inside = false;
    } else if (cells[1] == " operator " || cells[1] == " vector operator ") {
      inside = true;
    } else if (inside && !cells[1].starts_with("---")) {
      check_row(cells[1], read_numbers(cells[2]), read_numbers(cells[3]));
      ++rows;
    }
  }
  EXPECT_GE(rows, 30);
}

// Operators whose gradient is not a number at some of the points although their value is.
struct Exception {
  std::string_view op, reason;
};
constexpr Exception exceptions[] = {
    {"Pow", "a negative base has no logarithm, as in PyTorch"},
};

class SpecialPointTest : public testing::TestWithParam<const OpDef*> {};

// All floats equal: zeros and ties, saturation at both ends.
TEST_P(SpecialPointTest, HasAGradient) {
  const OpDef& def = *GetParam();
  for (const Case& test : def.cases()) {
    std::vector<TensorData> inputs = ops::case_inputs(def, test);
    if (size_of(inputs) > 500) continue;
    for (const double value : {0.0, 1.0, -100.0, 100.0}) {
      SCOPED_TRACE(cat(test.name, " at ", value));
      for (size_t i = 0; i < inputs.size(); ++i) {
        const TensorData& input = inputs[i];
        // Numbers that a case spells out are often scales and sizes.
        if (ops::is_given(test, i) || input.bytes.empty()) continue;
        if (!ir::is_float(input.dtype) || ir::is_small(input.dtype)) continue;
        inputs[i] = filled(input.dtype, input.shape, value);
      }
      const auto point = evaluate(def, test, inputs);
      if (!point) continue;
      const auto finite = [](const std::vector<double>& all) {
        return std::ranges::all_of(all, [](double each) { return std::isfinite(each); });
      };
      if (!std::ranges::all_of(point->outputs, finite)) continue;
      for (const auto& gradient : point->gradients) {
        for (const double each : gradient) {
          if (std::isnan(each)) {
            ADD_FAILURE() << "NaN";
            break;
          }
        }
      }
    }
  }
}

std::vector<const OpDef*> every_operator() {
  std::vector<const OpDef*> found;
  for (const OpDef& def : ops::builtin_catalog().entries()) {
    if (!std::ranges::count(exceptions, def.name, &Exception::op)) found.push_back(&def);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Catalog, SpecialPointTest, testing::ValuesIn(every_operator()),
                         [](const auto& info) { return test_name(*info.param); });

}  // namespace
}  // namespace gossamer::autodiff
