#include "codegen/glsl/print.h"

#include "codegen/glsl/dialect.h"
#include "codegen/text/writer.h"

namespace gossamer::codegen::glsl {
namespace {

// GLSL's comparisons of vectors are functions, and its choice between them takes no integers; these
// are missing.
struct Support {
  std::string_view call, code;
};
constexpr Support support[] = {
    {"both_of(",
     "bvec4 both_of(bvec4 a, bvec4 b) { return bvec4(a.x && b.x, a.y && b.y, a.z && b.z, a.w && "
     "b.w); }\n"},
    {"one_of(",
     "bvec4 one_of(bvec4 a, bvec4 b) { return bvec4(a.x || b.x, a.y || b.y, a.z || b.z, a.w || "
     "b.w); }\n"},
    {"choose_float(", "float choose_float(bool c, float a, float b) { return mix(b, a, c); }\n"},
    {"choose_int(", "int choose_int(bool c, int a, int b) { return c ? a : b; }\n"},
    {"choose_uint(", "uint choose_uint(bool c, uint a, uint b) { return c ? a : b; }\n"},
    {"choose_bool(", "bool choose_bool(bool c, bool a, bool b) { return c ? a : b; }\n"},
    {"choose_vec4(", "vec4 choose_vec4(bvec4 c, vec4 a, vec4 b) { return mix(b, a, c); }\n"},
    {"choose_ivec4(",
     "ivec4 choose_ivec4(bvec4 c, ivec4 a, ivec4 b) {\n"
     "  return ivec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);\n}\n"},
    {"choose_uvec4(",
     "uvec4 choose_uvec4(bvec4 c, uvec4 a, uvec4 b) {\n"
     "  return uvec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);\n}\n"},
    {"choose_bvec4(",
     "bvec4 choose_bvec4(bvec4 c, bvec4 a, bvec4 b) {\n"
     "  return bvec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w);\n}\n"},
    {"inf_bits", "uint inf_bits = 0x7f800000u;\n"},
};

std::string_view letter_of(ir::DType storage) {
  return storage == ir::DType::f32 ? "" : storage == ir::DType::i32 ? "i" : "u";
}

}  // namespace

Shader print(const text::Program& program) {
  const ir::Kernel& kernel = program.placed.kernel;
  text::Writer writer(dialect, program.placed.places);
  Shader shader;
  std::string head = "#version 300 es\nprecision highp float;\nprecision highp int;\n";
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const ir::BufferNode* buffer = kernel.params[i].buffer.get();
    const std::string_view letter = letter_of(buffer->storage);
    const int layers = buffer->layout.layers;
    shader.bindings.push_back({buffer->storage, layers});
    if (!kernel.params[i].written) {
      writer.set_name(buffer, cat("b", i));
      head += cat("uniform highp ", letter, layers > 1 ? "sampler2DArray" : "sampler2D", " b", i,
                  ";\n");
      continue;
    }
    for (int layer = 0; layer < layers; ++layer) {
      head += cat("layout(location = ", layer, ") out ", letter, "vec4 o", layer, ";\n");
    }
  }
  for (const ir::Var& scalar : kernel.scalars) {
    const std::string name = cat("s", shader.scalars++);
    writer.set_name(scalar.get(), name);
    head += cat("uniform int ", name, ";\n");
  }
  writer.set_name(program.grid.get(), "texel");
  const std::string body = writer.statements(program.body, 2);
  const std::string used = writer.functions() + body;
  for (const Support& part : support) {
    if (used.find(part.call) != std::string::npos) head += part.code;
  }
  shader.code =
      cat(head, writer.functions(), "void main() {\n  int texel = int(gl_FragCoord.x) + ",
          kernel.params.back().buffer->layout.width, " * int(gl_FragCoord.y);\n", body, "}\n");
  return shader;
}

}  // namespace gossamer::codegen::glsl
