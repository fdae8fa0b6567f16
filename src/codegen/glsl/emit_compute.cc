#include "codegen/glsl/emit_compute.h"

#include "codegen/glsl/dialect.h"
#include "ir/build.h"

namespace gossamer::codegen::glsl {
namespace {

text::ComputeShader print(const text::Compute& compute) {
  const text::Program& program = compute.program;
  const ir::Kernel& kernel = program.placed.kernel;
  text::Writer writer(compute_dialect, program.placed.places);
  text::ComputeShader shader = describe(compute, writer);
  std::string head = cat("precision highp float;\nprecision highp int;\nlayout(local_size_x = ",
                         program.group_size, ") in;\n");
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    head += cat("layout(std430, binding = ", i, ") restrict ",
                kernel.params[i].written ? "" : "readonly ", "buffer B", i, " { ",
                writer.element_type(kernel.params[i].buffer.get()), " b", i, "[]; };\n");
  }
  for (int scalar = compute.range_scalar ? 1 : 0; const ir::Var& var : kernel.scalars)
    writer.set_name(var.get(), cat("s[", scalar++, "]"));
  if (shader.scalars > 0)
    head += cat("layout(location = 0) uniform int s[", shader.scalars, "];\n");
  for (const ir::Buffer& buffer : program.group_buffers) {
    head += cat("shared ", writer.element_type(buffer.get()), " ", writer.name_of(buffer.get()),
                "[", program.placed.places.at(buffer.get()).elements, "];\n");
  }
  name_places(compute, writer, "grid", "invocation");
  const std::string body = writer.statements(program.body, 2);
  std::string begin = "  int grid = int(gl_WorkGroupID.x);\n";
  if (compute.grid_is_2d) {
    const std::string range =
        compute.range_scalar ? "s[0]" : std::to_string(*ir::as_int(program.range));
    begin = cat("  int grid = int(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x);\n",
                "  if (grid >= ", range, ") return;\n");
  }
  if (program.group.get()) begin += "  int invocation = int(gl_LocalInvocationID.x);\n";
  shader.code = cat(head, support_functions(writer.functions() + body), writer.functions(),
                    "void main() {\n", begin, body, "}\n");
  return shader;
}

}  // namespace

Result<text::ComputeShader> emit_compute(const ir::Kernel& kernel,
                                         const text::ComputeOptions& options) {
  GS_ASSIGN(const text::Compute compute, text::raise_compute(kernel, options, true));
  return print(compute);
}

}  // namespace gossamer::codegen::glsl
