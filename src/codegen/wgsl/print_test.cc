#include <gtest/gtest.h>

#include "codegen/wgsl/emit.h"
#include "ir/parse.h"

namespace gossamer::codegen::wgsl {
namespace {

Result<Shader> shader_of(std::string_view text, const Options& options = {}) {
  GS_ASSIGN(const ir::Kernel kernel, ir::parse_kernel(text));
  return emit(kernel, options);
}

TEST(PrintWgsl, VectorsRegistersAndLoops) {
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
  EXPECT_EQ(shader->code, R"(@group(0) @binding(0) var<storage, read> b0: array<vec4f>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4f>;
@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lid: u32) {
  let grid = i32(wid.x);
  let invocation = i32(lid);
  var acc_0_0: vec4f;
  acc_0_0 = vec4f(0.0);
  let b_0 = b1[invocation];
  for (var k_0 = 0; k_0 < 2; k_0++) {
    acc_0_0 = fma(vec4f(b_0), b0[k_0 * 4], acc_0_0);
  }
  b2[invocation] = select(acc_0_0, vec4f(0.0), acc_0_0 < vec4f(0.0));
}
)");
  EXPECT_EQ(shader->group_size, 8);
  EXPECT_TRUE(shader->bindings[0].vectors);
  EXPECT_FALSE(shader->bindings[1].vectors);
  EXPECT_FALSE(shader->range_scalar);
}

TEST(PrintWgsl, HalvesAreConvertedWhereTheyAreRead) {
  const char* text = R"(kernel k[](a: f16[8], b: f16[3], write c: f16[8]) {
  grid g in 0..1 {
    group t in 0..2 {
      c[ramp(t * 4, 1, 4)] = a[ramp(t * 4, 1, 4)] + x4(b[t])
    }
  }
}
)";
  const auto shader = shader_of(text, {.f16 = true});
  ASSERT_TRUE(shader) << shader.error().to_string();
  EXPECT_EQ(shader->code, R"(enable f16;
@group(0) @binding(0) var<storage, read> b0: array<vec4h>;
@group(0) @binding(1) var<storage, read> b1: array<f16>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4h>;
@compute @workgroup_size(2)
fn main(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lid: u32) {
  let grid = i32(wid.x);
  let invocation = i32(lid);
  b2[invocation] = vec4h(vec4f(b0[invocation]) + vec4f(f32(b1[invocation])));
}
)");
  const auto wide = shader_of(text);
  ASSERT_TRUE(wide) << wide.error().to_string();
  EXPECT_EQ(wide->code.find("f16"), std::string::npos);
}

TEST(PrintWgsl, DynamicRangeNarrowTypesAndFunctions) {
  const auto shader = shader_of(R"(kernel k[n](a: u8[n], write c: bool[n]) {
  grid g in 0..n {
    group t in 0..1 {
      c[g] = is_nan(tanh(f32(a[g] + u8(200))))
    }
  }
}
)");
  ASSERT_TRUE(shader) << shader.error().to_string();
  EXPECT_TRUE(shader->range_scalar);
  EXPECT_EQ(shader->scalars, 2);
  EXPECT_EQ(shader->bindings[0].storage, ir::DType::i32);
  const std::string_view code = shader->code;
  EXPECT_NE(code.find("if (grid >= s[0].x) { return; }"), code.npos) << code;
  EXPECT_NE(code.find("is_nan_f(tanh_f(f32((b0[grid] + 200) & 255)))"), code.npos) << code;
}

// A run time takes the definition out where the language has the function.
TEST(PrintWgsl, DotsOfBytes) {
  const auto shader = shader_of(R"(kernel k(a: i32[4], b: i32[16], write c: i32[16]) {
  grid g in 0..4 {
    group t in 0..1 {
      c[ramp(g * 4, 1, 4)] = dot4(x4(a[g]), b[ramp(g * 4, 1, 4)], x4(7i32))
    }
  }
}
)",
                                {.dots = true});
  ASSERT_TRUE(shader) << shader.error().to_string();
  const std::string_view code = shader->code;
  EXPECT_NE(code.find("fn dot4I8Packed(a: u32, b: u32) -> i32 {"), code.npos) << code;
  EXPECT_NE(code.find("vec4i(dot4I8Packed(bitcast<u32>(a_0), bitcast<u32>(b_0.x)) + 7, "),
            code.npos)
      << code;
}

// `a < b, c >` would begin a list of a template.
TEST(PrintWgsl, ComparisonsAreNoTemplates) {
  const auto shader = shader_of(R"(kernel k(a: i32[8], write c: i32[8]) {
  grid g in 0..4 {
    group t in 0..1 {
      c[g] = i32(select(g < 2, a[g + 1] >= a[g], a[g] < a[g + 1]))
    }
  }
}
)");
  ASSERT_TRUE(shader) << shader.error().to_string();
  const std::string_view code = shader->code;
  EXPECT_NE(code.find("select((a_1 < a_0), a_0 >= a_1, "), code.npos) << code;
}

TEST(PrintWgsl, LimitsAreErrors) {
  const auto shader = shader_of(R"(kernel k[](write c: f32[512]) {
  grid g in 0..1 {
    group t in 0..512 {
      c[t] = 1.0
    }
  }
}
)");
  ASSERT_FALSE(shader);
  EXPECT_EQ(shader.error().message, "a workgroup of 512 invocations; at most 256 are allowed");
}

}  // namespace
}  // namespace gossamer::codegen::wgsl
