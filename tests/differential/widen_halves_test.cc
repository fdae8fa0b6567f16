// Halves that products read again and again are converted once, to the same results.
#include "rewrite/widen_halves.h"

#include <gtest/gtest.h>

#include "interp/stages.h"
#include "ir/build.h"

namespace gossamer::differential {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using rewrite::widen_halves;
using stages::Stage;
using stages::StageKind;
using target::capabilities_of;

struct Product {
  Buffer x, w, y;
  stages::Program program;

  // y[rows, columns] = the halves of x, which a stage makes, times w.
  explicit Product(int64_t columns, int64_t rows = 3) {
    x = ir::buffer("x", DType::f32, {index(rows), index(8)});
    w = ir::buffer("w", DType::f16, {index(8), index(columns)});
    Stage halves;
    halves.name = "halves";
    halves.output = ir::buffer("h", DType::f16, x->shape);
    halves.extents = x->shape;
    halves.axes = {ir::var("i"), ir::var("k")};
    halves.result = ir::cast(DType::f16, ir::load(x, {halves.axes[0], halves.axes[1]}));
    Stage sum;
    sum.name = "sum";
    sum.kind = StageKind::reduce;
    sum.extents = {index(rows), index(columns)};
    sum.output = y = ir::buffer("y", DType::f32, sum.extents);
    sum.axes = {ir::var("i"), ir::var("j")};
    const ir::Var k = ir::var("k");
    const ir::Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
    sum.reduce_axes = {k};
    sum.reduce_extents = {index(8)};
    sum.accumulators = {stages::sum_accumulator(left, right)};
    sum.values = {ir::cast(DType::f32, ir::load(halves.output, {sum.axes[0], k})) *
                  ir::cast(DType::f32, ir::load(w, {k, sum.axes[1]}))};
    sum.result = left;
    program.emplace_back(halves);
    program.emplace_back(sum);
  }

  std::vector<std::byte> run() const {
    interp::Values values;
    const int64_t rows = *ir::as_int(x->shape[0]);
    std::vector<float> numbers(static_cast<size_t>(8 * rows));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1f * static_cast<float>(i) - 1;
    values[x.get()] = ops::floats({rows, 8}, numbers);
    const int64_t columns = *ir::as_int(w->shape[1]);
    values[w.get()] = {DType::f16, {8, columns}, std::vector<std::byte>(), {}};
    for (int64_t i = 0; i < 8 * columns; ++i) {
      values[w.get()].bytes.push_back(static_cast<std::byte>(i % 251));
      values[w.get()].bytes.push_back(static_cast<std::byte>(0x38 + i % 4));
    }
    EXPECT_TRUE(interp::run_program(program, values));
    return values.at(y.get()).bytes;
  }
};

// A machine without instructions for halves stores none.
TEST(WidenHalves, AreStoredAsFloatsWhereManyPointsReadThem) {
  for (const int64_t columns : {8, 64})
    for (const bool converts : {false, true}) {
      Product product(columns);
      const auto before = product.run();
      target::Capabilities caps = capabilities_of(TargetKind::cpu);
      caps.floats_for_halves = !converts;
      widen_halves(product.program, {{}, {}, {product.w.get()}}, caps);
      EXPECT_EQ(product.run(), before);
      ASSERT_EQ(product.program.size(), 2u);
      EXPECT_EQ(product.program[0].output()->dtype,
                converts && columns < 32 ? DType::f16 : DType::f32);
      EXPECT_EQ(stages::inputs_of(*product.program[1].stage())[0].get(),
                product.program[0].output().get());
    }
}

TEST(WidenHalves, OfOutputsHaveACopyInFloats) {
  Product product(64);
  const auto before = product.run();
  widen_halves(product.program, {{}, {product.program[0].output().get()}, {}},
               capabilities_of(TargetKind::wasm));
  EXPECT_EQ(product.run(), before);
  ASSERT_EQ(product.program.size(), 3u);
  EXPECT_EQ(product.program[0].output()->dtype, DType::f16);
  EXPECT_EQ(product.program[1].output()->dtype, DType::f32);
  EXPECT_EQ(stages::inputs_of(*product.program[2].stage())[0].get(),
            product.program[1].output().get());
}

TEST(WidenHalves, ConstantsThatManyRowsReadAreConvertedWhereNoInstructionDoesIt) {
  for (const bool converts : {false, true}) {
    Product product(64, 40);
    const auto before = product.run();
    target::Capabilities caps = capabilities_of(TargetKind::cpu);
    caps.floats_for_halves = !converts;
    widen_halves(product.program, {{}, {}, {product.w.get()}}, caps);
    EXPECT_EQ(product.run(), before);
    EXPECT_EQ(product.program.size(), converts ? 2u : 3u);
  }
}

TEST(WidenHalves, NotStatesAndNotOnGpus) {
  Product product(64);
  widen_halves(product.program, {{product.program[0].output().get()}, {}, {}},
               capabilities_of(TargetKind::wasm));
  EXPECT_EQ(product.program.size(), 2u);
  EXPECT_EQ(product.program[0].output()->dtype, DType::f16);
  widen_halves(product.program, {}, capabilities_of(TargetKind::webgpu));
  EXPECT_EQ(product.program[0].output()->dtype, DType::f16);
}

}  // namespace
}  // namespace gossamer::differential
