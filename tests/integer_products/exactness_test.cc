// Of target cpu.
// Sums of products of bytes against integers that are added one by one: every pair of types, odd
// lengths, zero points at the ends of their range, and pairs of the largest products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "gossamer/compile.hpp"
#include "onnx/model_writer.h"
#include "runtime/model.h"

namespace gossamer {
namespace {

using Numbers = std::vector<int64_t>;

struct Kind {
  const char* name;
  int onnx_type;
  int64_t low, high;
};
constexpr Kind u8{"u8", 2, 0, 255}, i8{"i8", 3, -128, 127};

template <class T>
std::vector<T> as(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

onnx::Message constant(const std::string& name, const Kind& kind, std::vector<int64_t> dims,
                       const Numbers& numbers) {
  return kind.low < 0 ? onnx::tensor(name, kind.onnx_type, std::move(dims), as<int8_t>(numbers))
                      : onnx::tensor(name, kind.onnx_type, std::move(dims), as<uint8_t>(numbers));
}
Tensor fed(const Kind& kind, std::vector<int64_t> dims, const Numbers& numbers) {
  return kind.low < 0 ? Tensor::of<int8_t>(std::move(dims), as<int8_t>(numbers))
                      : Tensor::of<uint8_t>(std::move(dims), as<uint8_t>(numbers));
}

// Any numbers of the kind, or only its least and largest: then neighbours of one sign fill 16 bits.
Numbers numbers(const Kind& kind, int64_t count, bool extreme, uint64_t& seed) {
  Numbers made;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto any = static_cast<int64_t>(seed >> 40);
    made.push_back(extreme ? (any % 5 == 0 ? kind.low : kind.high)
                           : kind.low + any % (kind.high - kind.low + 1));
  }
  return made;
}

// None: code for a processor with more than this one has, or a failure, which is reported.
std::optional<std::map<std::string, Tensor>> run(const onnx::GraphParts& parts,
                                                 const std::map<std::string, Tensor>& feeds,
                                                 const std::string& cpu) {
  CompileOptions options;
  options.target = "cpu";
  options.cpu = cpu;
  const onnx::Message message = onnx::model(parts);
  const auto package = compile(onnx::bytes_of(message), options);
  if (!package) {
    ADD_FAILURE() << package.error().to_string();
    return std::nullopt;
  }
  auto model = load(*package, {.threads = 1});
  if (!model) {
    if (cpu == "native") ADD_FAILURE() << model.error().to_string();
    return std::nullopt;
  }
  auto outputs = model->run(feeds);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().to_string();
    return std::nullopt;
  }
  return *std::move(outputs);
}

struct Case {
  Kind a, b;
  int64_t rows, length, columns;
  bool extreme, open, constant;  // open: a run tells the number of rows and the length
};

void check(const Case& c, const std::string& cpu) {
  SCOPED_TRACE(testing::Message() << cpu << ": " << c.a.name << " x " << c.b.name << ", " << c.rows
                                  << " x " << c.length << " x " << c.columns
                                  << (c.extreme ? ", extreme" : "") << (c.open ? ", open" : "")
                                  << (c.constant ? ", constant" : ""));
  uint64_t seed = 7;
  const Numbers a = numbers(c.a, c.rows * c.length, c.extreme, seed);
  const Numbers b = numbers(c.b, c.length * c.columns, c.extreme, seed);
  const int64_t a_zero = c.extreme ? c.a.low : c.a.high;
  Numbers b_zeros(static_cast<size_t>(c.columns), c.b.high);
  for (size_t i = 0; i < b_zeros.size(); i += 2) b_zeros[i] = c.b.low;

  const auto dim = [&](int64_t size, const char* name) {
    return c.open ? std::string(name) : std::to_string(size);
  };
  onnx::GraphParts parts;
  parts.inputs = {onnx::value(
      "a", {dim(c.rows, "m"), c.constant ? std::to_string(c.length) : dim(c.length, "k")},
      c.a.onnx_type)};
  parts.nodes = {onnx::node("MatMulInteger", {"a", "b", "a_zero", "b_zero"}, {"y"})};
  parts.outputs = {onnx::value("y", {}, 6)};
  parts.initializers = {constant("a_zero", c.a, {}, {a_zero}),
                        constant("b_zero", c.b, {c.columns}, b_zeros)};
  if (c.constant)
    parts.initializers.push_back(constant("b", c.b, {c.length, c.columns}, b));
  else
    parts.inputs.push_back(
        onnx::value("b", {dim(c.length, "k"), std::to_string(c.columns)}, c.b.onnx_type));

  std::map<std::string, Tensor> feeds{{"a", fed(c.a, {c.rows, c.length}, a)}};
  if (!c.constant) feeds.emplace("b", fed(c.b, {c.length, c.columns}, b));
  const auto outputs = run(parts, feeds, cpu);
  if (!outputs) return;
  const auto y = outputs->at("y").data<int32_t>().value();
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t column = 0; column < c.columns; ++column) {
      int64_t sum = 0;
      for (int64_t k = 0; k < c.length; ++k)
        sum +=
            (a[static_cast<size_t>(row * c.length + k)] - a_zero) *
            (b[static_cast<size_t>(k * c.columns + column)] - b_zeros[static_cast<size_t>(column)]);
      ASSERT_EQ(y[static_cast<size_t>(row * c.columns + column)], sum) << row << ", " << column;
    }
}

// ConvInteger over squares, padded with zero points.
struct Convolution {
  Kind x, w;
  int64_t channels, outputs, groups, window, stride;
  bool extreme;
};

void check_convolution(const Convolution& c, const std::string& cpu) {
  SCOPED_TRACE(testing::Message() << cpu << ": " << c.x.name << " x " << c.w.name << ", "
                                  << c.channels << " to " << c.outputs << " channels in "
                                  << c.groups << " groups, window " << c.window << ", stride "
                                  << c.stride << (c.extreme ? ", extreme" : ""));
  constexpr int64_t size = 9;
  const int64_t pad = c.window / 2, made = (size - 1) / c.stride + 1;
  const int64_t in_group = c.channels / c.groups, out_group = c.outputs / c.groups;
  uint64_t seed = 11;
  const Numbers x = numbers(c.x, c.channels * size * size, c.extreme, seed);
  const Numbers w = numbers(c.w, c.outputs * in_group * c.window * c.window, c.extreme, seed);
  const int64_t zero = c.extreme ? c.x.low : c.x.low + 131;

  onnx::GraphParts parts;
  const std::string extent = std::to_string(size);
  parts.inputs = {
      onnx::value("x", {"1", std::to_string(c.channels), extent, extent}, c.x.onnx_type)};
  parts.nodes = {onnx::node(
      "ConvInteger", {"x", "w", "zero"}, {"y"},
      {onnx::attribute("group", c.groups), onnx::attribute("pads", Numbers{pad, pad, pad, pad}),
       onnx::attribute("strides", Numbers{c.stride, c.stride})})};
  parts.outputs = {onnx::value("y", {}, 6)};
  parts.initializers = {constant("zero", c.x, {}, {zero}),
                        constant("w", c.w, {c.outputs, in_group, c.window, c.window}, w)};
  const auto outputs = run(parts, {{"x", fed(c.x, {1, c.channels, size, size}, x)}}, cpu);
  if (!outputs) return;
  const auto y = outputs->at("y").data<int32_t>().value();
  const auto at = [](const Numbers& of, int64_t place) { return of[static_cast<size_t>(place)]; };
  for (int64_t o = 0; o < c.outputs; ++o)
    for (int64_t point = 0; point < made * made; ++point) {
      int64_t sum = 0;
      for (int64_t r = 0; r < in_group; ++r)
        for (int64_t tap = 0; tap < c.window * c.window; ++tap) {
          const int64_t row = point / made * c.stride - pad + tap / c.window;
          const int64_t column = point % made * c.stride - pad + tap % c.window;
          if (row < 0 || row >= size || column < 0 || column >= size) continue;
          const int64_t channel = o / out_group * in_group + r;
          sum += (at(x, (channel * size + row) * size + column) - zero) *
                 at(w, (o * in_group + r) * c.window * c.window + tap);
        }
      ASSERT_EQ(y[static_cast<size_t>(o * made * made + point)], sum) << o << ", " << point;
    }
}

class IntegerProducts : public testing::TestWithParam<const char*> {};

TEST_P(IntegerProducts, AreExact) {
  for (const Kind& a : {u8, i8})
    for (const Kind& b : {u8, i8})
      for (int64_t length : {1, 3, 4, 5, 67})
        for (bool extreme : {false, true})
          check({a, b, 7, length, 35, extreme, false, true}, GetParam());
}

TEST_P(IntegerProducts, AreExactOfOneRowAndOfFewColumns) {
  check({u8, i8, 1, 67, 64, true, false, true}, GetParam());
  check({u8, i8, 9, 67, 1, true, false, true}, GetParam());
  check({i8, u8, 9, 64, 5, true, false, true}, GetParam());
}

TEST_P(IntegerProducts, AreExactWhereARunTellsTheSizes) {
  for (int64_t length : {1, 5, 68}) {
    check({u8, i8, 13, length, 33, true, true, true}, GetParam());
    check({i8, u8, 13, length, 33, true, true, false}, GetParam());
    check({u8, u8, 13, length, 33, false, false, false}, GetParam());
  }
}

TEST_P(IntegerProducts, AreExactInGroupsOfChannels) {
  struct Sizes {
    int64_t channels, outputs, groups;
  };
  for (const auto& [channels, outputs, groups] :
       {Sizes{16, 48, 4}, {64, 32, 2}, {24, 24, 4}, {8, 16, 4}, {9, 9, 3}}) {
    check_convolution({u8, i8, channels, outputs, groups, 3, 1, true}, GetParam());
    check_convolution({i8, u8, channels, outputs, groups, 3, 2, true}, GetParam());
    check_convolution({i8, i8, channels, outputs, groups, 1, 1, false}, GetParam());
  }
}

TEST_P(IntegerProducts, AreExactInWindowsOfOneChannel) {
  for (int64_t channels : {3, 35})
    for (int64_t window : {3, 5}) {
      check_convolution({u8, i8, channels, channels, channels, window, 1, true}, GetParam());
      check_convolution({i8, u8, channels, channels, channels, window, 2, true}, GetParam());
      check_convolution({u8, u8, channels, 2 * channels, channels, window, 1, false}, GetParam());
    }
}

INSTANTIATE_TEST_SUITE_P(Processors, IntegerProducts,
                         testing::Values("native"
#ifdef __x86_64__
                                         ,
                                         "x86-64-v2", "haswell", "skylake-avx512", "cascadelake",
                                         "alderlake"
#endif
                                         ));

}  // namespace
}  // namespace gossamer
