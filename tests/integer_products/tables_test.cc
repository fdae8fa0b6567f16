// Of target cpu.
// Functions of a byte: many points read them from a table, few compute them, and both are equal.
#include <gtest/gtest.h>

#include "gossamer/compile.hpp"
#include "onnx/model_writer.h"
#include "runtime/model.h"

namespace gossamer {
namespace {

// SiLU with a rounding after each operator of all 256 bytes, `times` times.
template <class T>
std::vector<T> activated(int64_t times, const std::string& cpu) {
  const int type = std::is_signed_v<T> ? 3 : 2;
  std::vector<T> bytes;
  for (int64_t i = 0; i < 256 * times; ++i) bytes.push_back(static_cast<T>(i));
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {std::to_string(times), "256"}, type)};
  parts.outputs = {onnx::value("y", {}, type)};
  parts.initializers = {onnx::floats("s", {}, {0.05f}), onnx::floats("t", {}, {0.004f}),
                        onnx::tensor<T>("z", type, {}, {9}),
                        onnx::tensor<T>("zero", type, {}, {0})};
  parts.nodes = {onnx::node("DequantizeLinear", {"x", "s", "z"}, {"a"}),
                 onnx::node("Sigmoid", {"a"}, {"b"}),
                 onnx::node("QuantizeLinear", {"b", "t", "zero"}, {"c"}),
                 onnx::node("DequantizeLinear", {"c", "t", "zero"}, {"d"}),
                 onnx::node("Mul", {"a", "d"}, {"e"}),
                 onnx::node("QuantizeLinear", {"e", "s", "z"}, {"y"})};
  CompileOptions options;
  options.target = "cpu";
  options.cpu = cpu;
  const onnx::Message message = onnx::model(parts);
  const auto package = compile(onnx::bytes_of(message), options);
  EXPECT_TRUE(package) << package.error().to_string();
  if (!package) return {};
  auto model = load(*package, {.threads = 1});
  // Code for a processor with more than this one has.
  if (!model && cpu != "native") return {};
  EXPECT_TRUE(model) << model.error().to_string();
  if (!model) return {};
  const auto outputs = model->run({{"x", Tensor::of<T>({times, 256}, bytes)}});
  EXPECT_TRUE(outputs) << outputs.error().to_string();
  if (!outputs) return {};
  const auto y = outputs->at("y").template data<T>().value();
  return {y.begin(), y.end()};
}

template <class T>
void check(const std::string& cpu) {
  const std::vector<T> computed = activated<T>(1, cpu), read = activated<T>(40, cpu);
  if (computed.empty()) return;
  ASSERT_EQ(read.size(), computed.size() * 40);
  for (size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], computed[i % 256]) << i;
}

TEST(Tables, HoldWhatIsComputed) {
  for (const char* cpu : {"native",
#ifdef __x86_64__
                          "x86-64-v2", "haswell", "skylake-avx512"
#endif
       }) {
    check<uint8_t>(cpu);
    check<int8_t>(cpu);
  }
}

}  // namespace
}  // namespace gossamer
