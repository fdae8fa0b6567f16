#include "codegen/c/emit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codegen/c/literals.h"
#include "ir/build.h"
#include "ir/parse.h"

namespace gossamer::codegen::c {
namespace {

std::string source_of(std::string_view text) {
  const auto kernel = ir::parse_kernel(text);
  EXPECT_TRUE(kernel) << kernel.error().to_string();
  return emit_source(std::span(&*kernel, 1), nullptr);
}

TEST(EmitC, VectorsAndRegisters) {
  const std::string source = source_of(R"(kernel k[](a: f32[32], write c: f32[32]) {
  grid g in 0..8 {
    alloc acc: f32[8]
    alloc kept: f32[1]
    kept[0] = a[g]
    acc[ramp(4, 1, 4)] = x4(0.0)
    for k in 0..2 {
      acc[ramp(4, 1, 4)] = fma(x4(2.0), a[ramp(k * 16, 1, 4)], acc[ramp(4, 1, 4)])
    }
    c[ramp(g * 4, 1, 4)] = acc[ramp(4, 1, 4)]
    c[0] = acc[5]
  }
}
)");
  EXPECT_EQ(source.substr(source.find("static void")),
            R"(static void k0(gs_word begin, gs_word end, void* const* arguments) {
  const float* const b0 = (const float*)arguments[0];
  float* const b1 = (float*)arguments[1];
  for (gs_word i0 = begin; i0 < end; ++i0) {
    gs_f32x4 m1_0;
    gs_f32x4 m1_1;
    float m2_0;
    m2_0 = b0[i0];
    m1_1 = gs_splat_f32x4(0.0f);
    for (gs_word i3 = 0; i3 < 2; ++i3) {
      m1_1 = gs_fma_f32x4(gs_splat_f32x4(2.0f), gs_load_f32x4(b0 + (i3 * 16)), m1_1);
    }
    gs_store_f32x4(b1 + (i0 * 4), m1_1);
    b1[0] = m1_1.v[1];
    (void)m2_0;
    (void)m1_0;
  }
}
)");
}

// An expression that grows by sharing is written once a node.
TEST(EmitC, SharedExpressionsAreNamed) {
  const ir::Buffer buffer = ir::buffer("x", ir::DType::f32, {ir::index(1)});
  ir::Expr sum = ir::load(buffer, {ir::index(0)});
  for (int doubling = 0; doubling < 60; ++doubling) sum = sum + sum;
  ir::Kernel kernel;
  kernel.params.push_back({buffer, true, true});
  const ir::Var item = ir::var("g", ir::DType::index);
  kernel.body =
      ir::loop(item, ir::index(1), ir::LoopKind::grid, ir::store(buffer, {ir::index(0)}, sum));
  EXPECT_LT(emit_source(std::span(&kernel, 1), nullptr).size(), 5000U);
}

// Wherever C leaves something open, the text says what happens.
TEST(EmitC, NothingIsUndefined) {
  const std::string source =
      source_of(R"(kernel k[](a: i32[8], f: f32[8], u: u16[8], write c: i32[8], write d: u16[8]) {
  grid g in 0..8 {
    c[g] = a[g] / a[0] + a[g] * i32(f[g]) + (a[g] >> a[1])
    d[g] = u[g] * u[0]
  }
}
)");
  EXPECT_NE(source.find("return b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : "
                        "(int32_t)(a / b);"),
            std::string::npos)
      << source;
  EXPECT_NE(source.find("return a != a ? 0 : a <= -0x1p31f ? INT32_MIN : a >= 0x1p31f ? INT32_MAX "
                        ": (int32_t)a;"),
            std::string::npos);
  EXPECT_NE(source.find("(uint16_t)((uint32_t)a * (uint32_t)b)"), std::string::npos);
  EXPECT_NE(source.find("a < 0 ? (int32_t)~(~a >> ((uint32_t)b > 31u ? 31 : b))"),
            std::string::npos);
}

TEST(EmitC, LiteralsAreExact) {
  using enum ir::DType;
  EXPECT_EQ(float_literal(f32, 0.1F), "0x1.99999ap-4f");
  EXPECT_EQ(float_literal(f64, -3), "(-3.0)");
  EXPECT_EQ(float_literal(f32, -0.0), "(-0.0f)");
  EXPECT_EQ(float_literal(f32, -INFINITY), "(-INFINITY)");
  EXPECT_EQ(int_literal(i32, INT32_MIN), "INT32_MIN");
  EXPECT_EQ(int_literal(i64, INT64_MIN), "INT64_MIN");
  EXPECT_EQ(int_literal(i64, -5), "(-INT64_C(5))");
  EXPECT_EQ(int_literal(u64, -1), "UINT64_C(18446744073709551615)");
  EXPECT_EQ(int_literal(index, int64_t{1} << 40), "((gs_word)INT64_C(1099511627776))");
}

}  // namespace
}  // namespace gossamer::codegen::c
