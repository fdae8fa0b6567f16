// Weights of six, four and two bits: packed in the model file, packed in the stages, numbers where
// read.
#include <gtest/gtest.h>

#include "interp/expr_eval.h"
#include "interp/stages.h"
#include "ir/small_float.h"
#include "lower/lower.h"
#include "onnx/model_writer.h"
#include "onnx/reader.h"
#include "stages/stage_graph.h"

namespace gossamer {
namespace {

using namespace onnx;

// y = DequantizeLinear(w, 0.5) of `count` elements of `bits`, of any old bits.
struct Packed {
  std::vector<uint8_t> bytes;
  Message message;
  Packed(int type, int bits, int64_t count) {
    for (int64_t i = 0; i < (count * bits + 7) / 8; ++i)
      bytes.push_back(static_cast<uint8_t>(i * 37 + i / 256));
    message =
        model({{value("unused", {"1"})},
               {node("DequantizeLinear", {"w", "scale"}, {"y"}, {attribute("axis", int64_t{0})})},
               {value("y", {})},
               {tensor("w", type, {count}, bytes), floats("scale", {}, {0.5f})}});
  }
};

// The elements of output `y`.
std::vector<double> run(const Message& message, const ReadOptions& options) {
  const std::span<const std::byte> file = std::as_bytes(std::span(message.bytes));
  auto graph = read_model(file, options);
  EXPECT_TRUE(graph) << graph.error().to_string();
  auto stages = lower::lower(*graph, ops::builtin_catalog());
  EXPECT_TRUE(stages) << stages.error().to_string();
  interp::Values values;
  for (const auto& constant : stages->constants) {
    const stages::ConstantSource& source = constant.source;
    ops::TensorData data{source.dtype, source.shape, source.bytes, {}};
    if (source.file == 0) {
      const auto bytes = file.subspan(source.offset, source.length);
      data.bytes.assign(bytes.begin(), bytes.end());
    }
    EXPECT_EQ(data.bytes.size(),
              static_cast<size_t>(data.element_count() * ir::byte_size(data.dtype)));
    values[constant.buffer.get()] = data;
  }
  EXPECT_TRUE(interp::run_program(stages->program, values));
  std::vector<double> numbers;
  const ops::TensorData& y = values[stages->outputs[0].buffer.get()];
  for (int64_t i = 0; i < y.element_count(); ++i)
    numbers.push_back(interp::element(y, i).as_double());
  return numbers;
}

struct Kind {
  int onnx_type, bits;
  double (*number)(int code);
};
const Kind kinds[] = {
    {21, 4, [](int code) { return 1.0 * code; }},
    {22, 4, [](int code) { return code < 8 ? 1.0 * code : code - 16.0; }},
    {23, 4, [](int code) { return ir::from_small(ir::DType::f4e2m1, static_cast<uint8_t>(code)); }},
    {27, 6, [](int code) { return ir::from_small(ir::DType::f6e2m3, static_cast<uint8_t>(code)); }},
    {28, 6, [](int code) { return ir::from_small(ir::DType::f6e3m2, static_cast<uint8_t>(code)); }},
    {25, 2, [](int code) { return 1.0 * code; }},
    {26, 2, [](int code) { return code < 2 ? 1.0 * code : code - 4.0; }},
};

TEST(PackedWeights, AreTheSameNumbersCopiedOrAsARangeOfTheFile) {
  for (const Kind& kind : kinds) {
    const int64_t count =
        70'001;  // beyond the limit of what is copied; not a whole number of bytes
    const Packed packed(kind.onnx_type, kind.bits, count);
    const std::vector<double> ranged = run(packed.message, {});
    ReadOptions copying;
    copying.copy_limit = 1 << 20;
    EXPECT_EQ(ranged, run(packed.message, copying));
    ASSERT_EQ(ranged.size(), static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      int code = 0;
      for (int bit = 0; bit < kind.bits; ++bit) {
        const int64_t at = i * kind.bits + bit;
        code |= (packed.bytes[static_cast<size_t>(at / 8)] >> (at % 8) & 1) << bit;
      }
      ASSERT_EQ(ranged[static_cast<size_t>(i)], kind.number(code) * 0.5)
          << kind.onnx_type << " " << i;
    }
  }
}

TEST(PackedWeights, StayPackedInTheStages) {
  const Packed packed(22, 4, 40'000);
  auto graph = read_model(std::as_bytes(std::span(packed.message.bytes)), {});
  ASSERT_TRUE(graph);
  auto stages = lower::lower(*graph, ops::builtin_catalog());
  ASSERT_TRUE(stages);
  ASSERT_EQ(stages->constants[0].name, "w.packed");
  EXPECT_EQ(stages->constants[0].source.length, 20'000u);
}

TEST(PackedWeights, OfTheWrongLengthAreRefused) {
  const std::vector<uint8_t> bytes(5);
  const Message message = model({{value("x", {"1"})},
                                 {node("Identity", {"w"}, {"y"})},
                                 {value("y", {})},
                                 {tensor("w", 22, {7}, bytes)}});
  auto graph = read_model(std::as_bytes(std::span(message.bytes)), {});
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("has 5 bytes of data, its shape [7] needs 4"),
            std::string::npos)
      << graph.error().to_string();
}

}  // namespace
}  // namespace gossamer
