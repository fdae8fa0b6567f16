#include "codegen/opencl/print.h"

#include "codegen/opencl/dialect.h"

namespace gossamer::codegen::opencl {
namespace {

// OpenCL C does not say that a vector can be indexed.
std::string lane_functions(const std::string& code) {
  std::string functions;
  for (const std::string_view type : {"float", "int", "uint"}) {
    if (!code.contains(cat("lane_of_", type, "("))) continue;
    functions += cat("static ", type, " lane_of_", type, "(const ", type, "4 v, const int i) {\n",
                     "  return i & 2 ? (i & 1 ? v.w : v.z) : (i & 1 ? v.y : v.x);\n}\n");
  }
  return functions;
}

}  // namespace

Shader print(const text::Compute& compute) {
  const text::Program& program = compute.program;
  const ir::Kernel& kernel = program.placed.kernel;
  text::Writer writer(dialect, program.placed.places);
  Shader shader = describe(compute, writer);
  std::string parameters;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    parameters += cat(i == 0 ? "" : ", ", "__global ", kernel.params[i].written ? "" : "const ",
                      writer.element_type(kernel.params[i].buffer.get()), "* restrict b", i);
  }
  for (int scalar = 0; const ir::Var& var : kernel.scalars) {
    parameters += cat(", const int s", scalar);
    writer.set_name(var.get(), cat("s", scalar++));
  }
  std::string body;
  for (const ir::Buffer& buffer : program.group_buffers) {
    body += cat("  __local ", writer.element_type(buffer.get()), " ", writer.name_of(buffer.get()),
                "[", program.placed.places.at(buffer.get()).elements, "];\n");
  }
  name_places(compute, writer, "grid", "invocation");
  body += "  const int grid = (int)get_group_id(0);\n";
  if (program.group.get()) body += "  const int invocation = (int)get_local_id(0);\n";
  body += writer.statements(program.body, 2);
  // Products and sums are rounded one by one, as everywhere else; where not, the IR has an fma.
  shader.code = cat("#pragma OPENCL FP_CONTRACT OFF\n", lane_functions(writer.functions() + body),
                    writer.functions(), "__kernel __attribute__((reqd_work_group_size(",
                    program.group_size, ", 1, 1)))\nvoid run(", parameters, ") {\n", body, "}\n");
  return shader;
}

}  // namespace gossamer::codegen::opencl
