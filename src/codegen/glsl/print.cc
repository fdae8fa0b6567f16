#include "codegen/glsl/print.h"

#include "codegen/glsl/dialect.h"
#include "codegen/text/writer.h"

namespace gossamer::codegen::glsl {
namespace {

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
  head += support_functions(writer.functions() + body);
  shader.code =
      cat(head, writer.functions(), "void main() {\n  int texel = int(gl_FragCoord.x) + ",
          kernel.params.back().buffer->layout.width, " * int(gl_FragCoord.y);\n", body, "}\n");
  return shader;
}

}  // namespace gossamer::codegen::glsl
