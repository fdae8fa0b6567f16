#include <gtest/gtest.h>

#include "codegen/glsl/emit.h"
#include "ir/build.h"

namespace gossamer::codegen::glsl {
namespace {

using namespace ir;

Buffer texture(const std::string& name, DType dtype, int layers) {
  auto* node = new BufferNode(name, dtype, {index(64 * layers)});
  node->layout.flat = true;
  node->layout.axes = {{0, 4 * layers, 0}, {0, 4, layers}, {0, 1, 4}};
  node->layout.memory = Memory::texture;
  node->layout.width = 8;
  node->layout.layers = layers;
  return Buffer(node);
}

TEST(PrintGlsl, LayersIntegersAndUniforms) {
  const Buffer a = texture("a", DType::i8, 1), b = texture("b", DType::f32, 2),
               out = texture("out", DType::f32, 2);
  const Var t = var("t"), n = var("n");
  auto fetch = [&](const Buffer& from, const Expr& layer) {
    auto* node = new Load(Type(from->dtype, 4));
    node->buffer = from;
    node->indices = {floormod(t, 8), floordiv(t, 8), layer};
    return Expr(node);
  };
  std::vector<Stmt> stores;
  for (int layer = 0; layer < 2; ++layer) {
    const Expr value = cast(Type(DType::f32, 4), fetch(a, index(0))) * fetch(b, index(layer));
    const Expr picked = select(broadcast(t < n, 4), value, constant(Type(DType::f32, 4), 1));
    stores.push_back(store(out, {floormod(t, 8), floordiv(t, 8), index(layer)}, picked));
  }
  Kernel kernel{"k",
                {{a, false}, {b, false}, {out, true}},
                {n},
                loop(t, index(16), LoopKind::grid, block(stores))};
  const auto shader = emit(kernel);
  ASSERT_TRUE(shader) << shader.error().to_string();
  EXPECT_EQ(shader->code, R"(#version 300 es
precision highp float;
precision highp int;
uniform highp isampler2D b0;
uniform highp sampler2DArray b1;
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
uniform int s0;
vec4 choose_vec4(bvec4 c, vec4 a, vec4 b) {
  return vec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);
}
void main() {
  int texel = int(gl_FragCoord.x) + 8 * int(gl_FragCoord.y);
  bool t_0 = texel < s0;
  int i_0 = texel & 7;
  int i_1 = texel >> 3;
  vec4 t_1 = vec4(texelFetch(b0, ivec2(i_0, i_1), 0));
  o0 = choose_vec4(bvec4(t_0), t_1 * texelFetch(b1, ivec3(i_0, i_1, 0), 0), vec4(1.0));
  o1 = choose_vec4(bvec4(t_0), t_1 * texelFetch(b1, ivec3(i_0, i_1, 1), 0), vec4(1.0));
}
)");
  EXPECT_EQ(shader->scalars, 1);
  EXPECT_EQ(shader->bindings[0].storage, DType::i32);
  EXPECT_EQ(shader->bindings[2].layers, 2);
}

}  // namespace
}  // namespace gossamer::codegen::glsl
