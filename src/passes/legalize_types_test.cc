#include "passes/legalize_types.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "passes/number_codes.h"

namespace gossamer::passes {
namespace {

using namespace ir;

// Constant folding evaluates a conversion of a constant completely.
Expr bits(int64_t value) { return constant_int(DType::u16, value); }

TEST(LegalizeTypes, EveryHalfConverts) {
  for (int64_t h = 0; h < 0x10000; ++h) {
    const double wanted = from_half(static_cast<uint16_t>(h));
    // Constants that are NaN do not fold, to keep their payload; emit_lowered_test runs them.
    if (std::isnan(wanted)) continue;
    EXPECT_EQ(as_float(half_to_single(bits(h))), wanted) << h;
    EXPECT_EQ(as_int(single_to_half(constant(DType::f32, wanted))), h);
  }
}

TEST(LegalizeTypes, EveryBfloatConverts) {
  for (int64_t h = 0; h < 0x10000; ++h) {
    const double wanted = from_bfloat(static_cast<uint16_t>(h));
    if (std::isnan(wanted)) continue;
    EXPECT_EQ(*as_float(bfloat_to_single(bits(h))), wanted) << h;
    EXPECT_EQ(as_int(single_to_bfloat(constant(DType::f32, wanted))), h);
  }
}

TEST(LegalizeTypes, RoundsToNearestEven) {
  uint32_t state = 1;
  for (int k = 0; k < 200000; ++k) {
    state = state * 1664525 + 1013904223;
    // Mostly of the range of halves, and everything else too.
    const uint32_t pattern =
        k % 4 == 0 ? state : (state & 0x8fffffff) | (k % 4 == 1 ? 0x30000000 : 0x40000000);
    const double value = std::bit_cast<float>(pattern);
    if (std::isnan(value)) continue;
    EXPECT_EQ(as_int(single_to_half(constant(DType::f32, value))), to_half(value)) << value;
    EXPECT_EQ(as_float(rounded_to_half(constant(DType::f32, value))), from_half(to_half(value)))
        << value;
    EXPECT_EQ(as_int(single_to_bfloat(constant(DType::f32, value))), to_bfloat(value)) << value;
  }
}

TEST(LegalizeTypes, HalfBuffersHoldBits) {
  const Buffer in = buffer("in", DType::f16, {index(64)}),
               out = buffer("out", DType::f16, {index(64)});
  const Var g = var("g"), v = var("v", DType::f16);
  const Expr loaded = load(in, {Expr(g)});
  const Kernel kernel{
      "half",
      {{in, false}, {out, true}},
      {},
      loop(g, index(64), LoopKind::grid, let(v, loaded + loaded, store(out, {Expr(g)}, v)))};
  const auto legal = legalize_types(kernel);
  ASSERT_TRUE(legal);
  for (const auto& param : legal->params) {
    EXPECT_EQ(param.buffer->dtype, DType::u16);
    EXPECT_EQ(param.buffer->storage, DType::u16);
  }
  int halves = 0;
  visit(legal->body, {}, [&](const Expr& e) {
    halves += e->type.dtype == DType::f16;
    return true;
  });
  EXPECT_EQ(halves, 0);
}

TEST(LegalizeTypes, ConversionsByInstructionAreCasts) {
  const Buffer in = buffer("in", DType::f16, {index(64)}),
               out = buffer("out", DType::f16, {index(64)});
  const Var g = var("g");
  const Expr loaded = load(in, {Expr(g)});
  const Kernel kernel{"half",
                      {{in, false}, {out, true}},
                      {},
                      loop(g, index(64), LoopKind::grid, store(out, {Expr(g)}, loaded + loaded))};
  const auto legal = legalize_types(kernel, {.converts_halves = true});
  ASSERT_TRUE(legal);
  for (const auto& param : legal->params) EXPECT_EQ(param.buffer->storage, DType::u16);
  EXPECT_EQ(
      print(as<For>(legal->body)->body),
      "out[g] = bitcast<u16>(f16(f32(bitcast<f16>(in_1[g])) + f32(bitcast<f16>(in_1[g]))))\n");
}

TEST(LegalizeTypes, CopiesMoveBits) {
  const Buffer in = buffer("in", DType::bf16, {index(64)}),
               out = buffer("out", DType::bf16, {index(64)});
  const Var g = var("g");
  const Kernel kernel{
      "copy",
      {{in, false}, {out, true}},
      {},
      loop(g, index(64), LoopKind::grid, store(out, {Expr(g)}, load(in, {Expr(g)})))};
  const auto legal = legalize_types(kernel);
  ASSERT_TRUE(legal);
  const Stmt body = as<For>(legal->body)->body;
  EXPECT_EQ(as<Store>(body)->value->kind, NodeKind::Load);
}

TEST(LegalizeTypes, CopiesOfHalvesStayOnMachinesOfWords) {
  const Buffer in = buffer("in", DType::f16, {index(64)}),
               out = buffer("out", DType::f16, {index(64)});
  const Var g = var("g");
  const Kernel kernel{
      "copy",
      {{in, false}, {out, true}},
      {},
      loop(g, index(64), LoopKind::grid, store(out, {Expr(g)}, load(in, {Expr(g)})))};
  const auto legal = legalize_types(kernel, {.words = true});
  ASSERT_TRUE(legal);
  EXPECT_EQ(as<Store>(as<For>(legal->body)->body)->value->kind, NodeKind::Load);
}

TEST(LegalizeTypes, OtherKernelsStayThemselves) {
  const Buffer in = buffer("in", DType::f32, {index(8)}),
               out = buffer("out", DType::u8, {index(8)});
  const Var g = var("g");
  const Kernel kernel{"same",
                      {{in, false}, {out, true}},
                      {},
                      loop(g, index(8), LoopKind::grid,
                           store(out, {Expr(g)}, cast(DType::u8, load(in, {Expr(g)}))))};
  EXPECT_TRUE(legalize_types(kernel)->body.same(kernel.body));
}

}  // namespace
}  // namespace gossamer::passes
