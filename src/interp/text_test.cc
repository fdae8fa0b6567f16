// Cast between numbers and strings, against the C library.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interp/stages.h"
#include "ops/test_case.h"

namespace gossamer::interp {
namespace {

using ops::TensorData;

TensorData cast(const TensorData& x, int64_t to) {
  const ops::OpDef& def = *ops::builtin_catalog().find("", "Cast");
  const ops::Case test = {.name = "", .attributes = {{"to", to}}, .inputs = {x}};
  ops::DefinedCase made = ops::define_case(def, test, test.inputs);
  EXPECT_TRUE(made.status);
  Values values;
  for (const auto& [buffer, data] : made.memory) values[buffer.get()] = data;
  for (const auto& constant : made.builder->constants)
    values[constant.buffer.get()] = constant.data;
  EXPECT_TRUE(run_program(made.builder->program, values));
  const ops::Tensor& y = made.outputs[0];
  if (!y.bytes) return values.at(y.buffer.get());
  return *ops::join_strings(values.at(y.bytes.get()), values.at(y.lengths.get()));
}

constexpr int64_t count = 400;
// Of all sizes: bits of a simple generator.
template <class Float, class Bits>
std::vector<Float> telling_numbers() {
  std::vector<Float> numbers;
  uint64_t state = 1;
  while (numbers.size() < count) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto x = std::bit_cast<Float>(static_cast<Bits>(state >> (64 - 8 * sizeof(Bits))));
    if (std::isfinite(x)) numbers.push_back(x);
  }
  for (int power = -40; power < 38; ++power)
    numbers.push_back(static_cast<Float>(std::pow(10.0, power)));
  for (int power = -126; power < 128; ++power) numbers.push_back(std::ldexp(Float{1}, power));
  return numbers;
}

template <class Float>
TensorData tensor_of(ir::DType type, const std::vector<Float>& numbers) {
  TensorData data{type, {static_cast<int64_t>(numbers.size())}, {}, {}};
  data.bytes.resize(numbers.size() * sizeof(Float));
  std::memcpy(data.bytes.data(), numbers.data(), data.bytes.size());
  return data;
}

int digits_of(const std::string& text) {
  std::string digits;
  for (char c : text.substr(0, text.find('e'))) {
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return static_cast<int>(digits.size());
}

template <class Float, class Bits>
void expect_shortest(ir::DType type, Float (*read)(const char*)) {
  const std::vector<Float> numbers = telling_numbers<Float, Bits>();
  const std::vector<std::string> texts = cast(tensor_of(type, numbers), 8).strings;
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(read(texts[i].c_str()), numbers[i]) << texts[i];
    char shorter[64];
    if (digits_of(texts[i]) < 2) continue;
    std::snprintf(shorter, sizeof shorter, "%.*e", digits_of(texts[i]) - 2,
                  static_cast<double>(numbers[i]));
    EXPECT_NE(read(shorter), numbers[i]) << texts[i];
  }
}

float read_float(const char* text) { return std::strtof(text, nullptr); }
double read_double(const char* text) { return std::strtod(text, nullptr); }

TEST(Text, FloatsPrintTheFewestDigitsThatReadBack) {
  expect_shortest<float, uint32_t>(ir::DType::f32, read_float);
  expect_shortest<double, uint64_t>(ir::DType::f64, read_double);
}

TEST(Text, NumbersPrintLikeThis) {
  const std::vector<float> numbers = {0.0f,  -0.0f,  0.1f,     -2.5f,      16777216.0f,
                                      1e15f, 1e16f,  1.5e-5f,  9.9999e-5f, 3.4028235e38f,
                                      100.f, 1e-45f, INFINITY, -INFINITY,  NAN};
  EXPECT_EQ(cast(tensor_of(ir::DType::f32, numbers), 8).strings,
            (std::vector<std::string>{"0.0", "-0.0", "0.1", "-2.5", "16777216.0",
                                      "1000000000000000.0", "1e+16", "1.5e-05", "9.9999e-05",
                                      "3.4028235e+38", "100.0", "1e-45", "inf", "-inf", "nan"}));
  EXPECT_EQ(cast(ops::int64s({4}, {0, -7, INT64_MIN, INT64_MAX}), 8).strings,
            (std::vector<std::string>{"0", "-7", "-9223372036854775808", "9223372036854775807"}));
}

TEST(Text, NumbersAreRoundedOnce) {
  std::vector<std::string> texts = {"1e-5",
                                    "+1E8",
                                    " 3.14",
                                    "-.5",
                                    "5.",
                                    "-0",
                                    "1e400",
                                    "1e-400",
                                    "4.9e-324",
                                    "2.47e-324",
                                    "1e0005",
                                    "000.0001",
                                    "16777217",
                                    "16777217.00000001",
                                    "9007199254740993",
                                    "7e-46",
                                    "8.5e-323"};
  for (double x : telling_numbers<double, uint64_t>()) {
    for (const char* form : {"%.17g", "%.8e", "%.14e"}) {
      char text[64];
      std::snprintf(text, sizeof text, form, x);
      texts.emplace_back(text);
    }
  }
  const TensorData all = ops::strings({static_cast<int64_t>(texts.size())}, texts);
  const TensorData doubles = cast(all, 11), floats = cast(all, 1);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(element(doubles, static_cast<int64_t>(i)).as_double(), read_double(texts[i].c_str()))
        << texts[i];
    EXPECT_EQ(static_cast<float>(element(floats, static_cast<int64_t>(i)).as_double()),
              read_float(texts[i].c_str()))
        << texts[i];
  }
}

}  // namespace
}  // namespace gossamer::interp
