#include <gtest/gtest.h>

#include "codegen/opencl/emit.h"
#include "ir/parse.h"

namespace gossamer::codegen::opencl {
namespace {

Result<Shader> shader_of(std::string_view text, const Options& options = {}) {
  GS_ASSIGN(const ir::Kernel kernel, ir::parse_kernel(text));
  return emit(kernel, options);
}

TEST(PrintOpenCl, VectorsRegistersAndLoops) {
  const auto shader = shader_of(R"(kernel k[](a: f32[32], b: f32[8], write c: f32[32]) {
  grid g in 0..1 {
    group t in 0..8 {
      alloc acc: f32[4]
      acc[ramp(0, 1, 4)] = x4(0.0)
      for k in 0..2 {
        acc[ramp(0, 1, 4)] = fma(x4(b[t]), a[ramp(k * 16, 1, 4)], acc[ramp(0, 1, 4)])
      }
      c[ramp(t * 4, 1, 4)] = max(acc[ramp(0, 1, 4)], x4(0.0))
    }
  }
}
)");
  ASSERT_TRUE(shader) << shader.error().to_string();
  EXPECT_EQ(shader->code, R"(#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void run(__global const float4* restrict b0, __global const float* restrict b1, __global float4* restrict b2) {
  const int grid = (int)get_group_id(0);
  const int invocation = (int)get_local_id(0);
  float4 acc_0_0;
  acc_0_0 = (float4)(0.0);
  const float b_0 = b1[invocation];
  for (int k_0 = 0; k_0 < 2; k_0++) {
    acc_0_0 = fma((float4)(b_0), b0[k_0 * 4], acc_0_0);
  }
  b2[invocation] = select(acc_0_0, (float4)(0.0), acc_0_0 < (float4)(0.0));
}
)");
  EXPECT_EQ(shader->group_size, 8);
}

// Memory is not robust: what may lie outside is read at the nearest place inside.
TEST(PrintOpenCl, LoadsStayInside) {
  const auto shader = shader_of(R"(kernel k[n](a: f32[n], b: i32[5], write c: f32[n]) {
  grid g in 0..n {
    c[g] = select(g < 3, a[index(b[g]) + 1], a[g])
  }
}
)");
  ASSERT_TRUE(shader) << shader.error().to_string();
  EXPECT_EQ(shader->code, R"(#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void run(__global const float* restrict b0, __global const int* restrict b1, __global float* restrict b2, const int s0) {
  const int grid = (int)get_group_id(0);
  const int i_0 = max(s0 - 1, 0);
  b2[grid] = (grid < 3) ? b0[max(min(b1[min(grid, 4)] + 1, i_0), 0)] : b0[min(grid, i_0)];
}
)");
  EXPECT_EQ(shader->scalars, 1);
  EXPECT_FALSE(shader->range_scalar);
}

TEST(PrintOpenCl, BooleansOfVectorsAreMinusOne) {
  const auto shader = shader_of(R"(kernel k[](a: f32[8], b: i32[8], write c: i32[8]) {
  grid g in 0..2 {
    c[ramp(g * 4, 1, 4)] = i32x4(x4(index(b[g]) < 3) && a[ramp(g * 4, 1, 4)] < x4(0.0))
  }
}
)");
  ASSERT_TRUE(shader) << shader.error().to_string();
  EXPECT_EQ(shader->code, R"(#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void run(__global const float4* restrict b0, __global const int* restrict b1, __global int4* restrict b2) {
  const int grid = (int)get_group_id(0);
  b2[grid] = convert_int4(-(((int4)(b1[grid] < 3) != 0) & (b0[grid] < (float4)(0.0))));
}
)");
}

}  // namespace
}  // namespace gossamer::codegen::opencl
