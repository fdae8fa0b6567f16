#include "codegen/glsl/emit_compute.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace gossamer::codegen::glsl {
namespace {

Result<text::ComputeShader> shader_of(std::string_view text,
                                      const text::ComputeOptions& options = {}) {
  GS_ASSIGN(const ir::Kernel kernel, ir::parse_kernel(text));
  return emit_compute(kernel, options);
}

constexpr const char* dynamic = R"(kernel k[n](a: f32[n * 4], b: i32[5], write c: f32[n * 4]) {
  grid g in 0..n {
    group t in 0..64 {
      c[ramp(g * 4, 1, 4)] = a[ramp(g * 4, 1, 4)] + x4(f32(b[t]))
    }
  }
}
)";

TEST(EmitComputeGlsl, BlocksScalarsAndRanges) {
  const auto shader = shader_of(dynamic);
  ASSERT_TRUE(shader) << shader.error().to_string();
  EXPECT_EQ(shader->code, R"(precision highp float;
precision highp int;
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer B0 { vec4 b0[]; };
layout(std430, binding = 1) restrict readonly buffer B1 { int b1[]; };
layout(std430, binding = 2) restrict buffer B2 { vec4 b2[]; };
layout(location = 0) uniform int s[2];
void main() {
  int grid = int(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);
  if (grid >= s[0]) return;
  int invocation = int(gl_LocalInvocationID.x);
  b2[grid] = b0[min(grid, max(s[1] - 1, 0))] + vec4(float(b1[min(invocation, 4)]));
}
)");
  EXPECT_EQ(shader->scalars, 2);
  EXPECT_TRUE(shader->range_scalar);
}

TEST(EmitComputeGlsl, LimitsAreThoseOfTheDriver) {
  const auto groups = shader_of(dynamic, {.max_group_size = 32});
  ASSERT_FALSE(groups);
  EXPECT_TRUE(groups.error().message.contains("64 invocations; at most 32"));
  const auto buffers = shader_of(dynamic, {.max_storage_buffers = 2});
  ASSERT_FALSE(buffers);
  EXPECT_TRUE(buffers.error().message.contains("3 storage buffers; at most 2"));
}

}  // namespace
}  // namespace gossamer::codegen::glsl
