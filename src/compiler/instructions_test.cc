#include "compiler/instructions.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ir/parse.h"
#include "onnx/model_writer.h"

namespace gossamer::compiler {
namespace {

double count(std::string_view text, std::initializer_list<int64_t> scalars, int64_t range) {
  const auto kernel = ir::parse_kernel(text);
  EXPECT_TRUE(kernel) << kernel.error().to_string();
  return kernel ? instructions_of(*kernel, std::vector(scalars), range) : -1;
}

TEST(Instructions, AreThoseOfEachRoundOfItsLoops) {
  // Two loads, a multiplication and a store.
  EXPECT_EQ(count(R"(kernel k(A: f32[64], B: f32[64], write C: f32[64]) {
  grid g in 0..8 {
    for i in 0..8 {
      C[g * 8 + i] = A[g * 8 + i] * B[g * 8 + i]
    }
  }
})",
                  {}, 8),
            64 * 4);
}

TEST(Instructions, OfVectorsAreOneForAllLanes) {
  EXPECT_EQ(count(R"(kernel k(A: f32[64], write C: f32[64]) {
  grid g in 0..8 {
    C[ramp(g * 8, 1, 8)] = A[ramp(g * 8, 1, 8)]
  }
})",
                  {}, 8),
            8 * 2);
}

TEST(Instructions, WhatALoopDoesNotChangeIsBeforeIt) {
  const std::string_view text = R"(kernel k[s](A: f32[s, 100], write C: f32[s, 100]) {
  grid g in 0..s {
    for i in 0..100 {
      C[g // s, i] = A[g // s, i]
    }
  }
})";
  // Divisions by what only a run knows take 20 each, one a round of the outer loop.
  EXPECT_EQ(count(text, {10}, 10), 10 * (2 * 20 + 100 * 2));
  EXPECT_EQ(count(text, {10}, 0), 0);
}

TEST(Instructions, OfAConditionAreThoseInTheMiddle) {
  EXPECT_EQ(count(R"(kernel k(A: f32[64], write C: f32[64]) {
  grid g in 0..64 {
    if g > 2 {
      C[g] = A[g]
    } else {
      C[g] = A[g] * A[g + 1] * 2.0
    }
  }
})",
                  {}, 64),
            64 * (1 + 2));
}

// With all extents known nothing is divided where rows end.
TEST(Instructions, OfOpenDimensionsAreMoreThanOfFixedOnes) {
  using onnx::model, onnx::node, onnx::value, onnx::bytes_of;
  const onnx::Message message = model({{value("x", {"rows", "columns"})},
                                       {node("Transpose", {"x"}, {"y"})},
                                       {value("y", {"columns", "rows"})}});
  const auto transposed = bytes_of(message);
  Options options;
  double instructions = 0;
  size_t launches = 0;
  options.on_launch = [&](const ir::Kernel& kernel, std::span<const int64_t> scalars,
                          int64_t range) {
    instructions += instructions_of(kernel, scalars, range);
    ++launches;
  };
  Report open;
  const auto made = compile(transposed, options, &open);
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_EQ(open.dims.size(), 2u);
  EXPECT_EQ(open.dims[0].first, "rows");
  EXPECT_EQ(launches, 1u);
  const double before = std::exchange(instructions, 0);
  options.code = CodeForm::none;
  options.known.dims.insert(open.dims.begin(), open.dims.end());
  Report fixed;
  const auto files = compile(transposed, options, &fixed);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->empty());
  EXPECT_TRUE(fixed.dims.empty());
  EXPECT_GT(before, instructions);
  EXPECT_GT(instructions, 0);
}

}  // namespace
}  // namespace gossamer::compiler
