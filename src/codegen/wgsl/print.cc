#include "codegen/wgsl/print.h"

#include <algorithm>

#include "codegen/text/writer.h"
#include "codegen/wgsl/dialect.h"
#include "ir/build.h"

namespace gossamer::codegen::wgsl {
namespace {

// Not all browsers have the function: run times take the definition out where the language has it
// (packed_4x8_integer_dot_product).
constexpr std::string_view dot_of_bytes = R"(fn dot4I8Packed(a: u32, b: u32) -> i32 {
  let places = vec4u(24, 16, 8, 0);
  let x = (vec4i(bitcast<i32>(a)) << places) >> vec4u(24);
  let y = (vec4i(bitcast<i32>(b)) << places) >> vec4u(24);
  return dot(x, y);
}
)";

// Scalar i of the uniform array of vec4<i32>.
std::string scalar_at(int i) {
  return cat("s[", i / 4, "].", std::string_view("xyzw").substr(static_cast<size_t>(i % 4), 1));
}

}  // namespace

Shader print(const text::Compute& raised) {
  const text::Program& program = raised.program;
  const ir::Kernel& kernel = program.placed.kernel;
  text::Writer writer(dialect, program.placed.places);
  Shader shader = describe(raised, writer);
  std::string head;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const ir::BufferNode* buffer = kernel.params[i].buffer.get();
    head += cat("@group(0) @binding(", i, ") var<storage, ",
                kernel.params[i].written ? "read_write" : "read", "> b", i, ": array<",
                writer.element_type(buffer), ">;\n");
  }
  for (int scalar = raised.range_scalar ? 1 : 0; const ir::Var& var : kernel.scalars) {
    writer.set_name(var.get(), scalar_at(scalar++));
  }
  if (shader.scalars > 0) {
    head += cat("@group(0) @binding(", kernel.params.size(), ") var<uniform> s: array<vec4i, ",
                (shader.scalars + 3) / 4, ">;\n");
  }
  for (const ir::Buffer& buffer : program.group_buffers) {
    const int64_t count = program.placed.places.at(buffer.get()).elements;
    head += cat("var<workgroup> ", writer.name_of(buffer.get()), ": array<",
                writer.element_type(buffer.get()), ", ", count, ">;\n");
  }
  const bool has_half = std::ranges::any_of(
      shader.bindings, [](const text::Binding& one) { return one.storage == ir::DType::f16; });
  if (has_half) head = "enable f16;\n" + head;
  name_places(raised, writer, "grid", "invocation");
  const std::string body = writer.statements(program.body, 2);
  const bool has_infinity = (body + writer.functions()).find("inf_bits") != std::string::npos;
  if (has_infinity) head += "var<private> inf_bits = 0x7f800000u;\n";

  if (body.contains("dot4I8Packed(")) head += dot_of_bytes;

  std::string entry = cat("@compute @workgroup_size(", program.group_size, ")\nfn main(",
                          "@builtin(workgroup_id) wid: vec3u");
  if (raised.grid_is_2d) entry += ", @builtin(num_workgroups) groups: vec3u";
  if (program.group.get()) entry += ", @builtin(local_invocation_index) lid: u32";
  entry += ") {\n";
  if (raised.grid_is_2d) {
    const std::string range =
        raised.range_scalar ? scalar_at(0) : std::to_string(*ir::as_int(program.range));
    entry += cat("  let grid = i32(wid.x + wid.y * groups.x);\n  if (grid >= ", range,
                 ") { return; }\n");
  } else {
    entry += "  let grid = i32(wid.x);\n";
  }
  if (program.group.get()) entry += "  let invocation = i32(lid);\n";
  shader.code = head + writer.functions() + entry + body + "}\n";
  return shader;
}

}  // namespace gossamer::codegen::wgsl
