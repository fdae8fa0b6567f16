#include "runtime/webgl/programs.h"

#include "runtime/shader_sources.h"

namespace gossamer::runtime::webgl {
namespace {

using opengl::Gl;
using opengl::Program;
using opengl::Shader;

// One triangle that covers the viewport.
constexpr std::string_view corners =
    "void main() {\n"
    "  gl_Position = vec4(gl_VertexID % 2 * 4 - 1, gl_VertexID / 2 * 4 - 1, 0, 1);\n"
    "}\n";

constexpr std::string_view es_version = "#version 300 es\n";

}  // namespace

Result<std::unique_ptr<Draws>> Draws::build(const std::shared_ptr<opengl::Context>& context,
                                            Compiled<Program>& compiled,
                                            std::span<const std::byte> code,
                                            std::span<const KernelEntry> kernels) {
  const Gl& gl = context->gl();
  GS_ASSIGN(const std::vector<std::string> sources, shader_sources(code, kernels));
  // OpenGL 3.3 reads the same text, precisions included, by another name.
  const std::string_view version = context->es() ? es_version : "#version 330\n";
  const Shader vertices = opengl::make_shader(context, GL_VERTEX_SHADER, {version, corners});
  const int most = context->number(GL_MAX_TEXTURE_IMAGE_UNITS);
  std::vector<std::shared_ptr<Program>> programs;
  std::vector<std::vector<GLint>> scalars;
  for (size_t at = 0; at < kernels.size(); ++at) {
    const KernelEntry& kernel = kernels[at];
    if (kernel.writes != 1)
      return fail(cat("a kernel writes ", kernel.writes, " textures, webgl's write one"),
                  "the package is damaged: compile the model again");
    if (kernel.buffers - 1 > most)
      return fail(
          cat("a kernel reads ", kernel.buffers - 1, " textures, this device allows ", most));
    std::string_view source = sources[at];
    if (source.starts_with(es_version)) source.remove_prefix(es_version.size());
    const auto make = [&]() -> Result<std::shared_ptr<Program>> {
      const Shader fragments = opengl::make_shader(context, GL_FRAGMENT_SHADER, {version, source});
      const Shader* const parts[] = {&vertices, &fragments};
      GS_ASSIGN(Program program, opengl::link(context, parts));
      return std::make_shared<Program>(std::move(program));
    };
    GS_ASSIGN(auto program, compiled.get(sources[at], make));
    gl.glUseProgram(program->name());
    for (int unit = 0; unit < kernel.buffers - 1; ++unit)
      gl.glUniform1i(gl.glGetUniformLocation(program->name(), cat("b", unit).c_str()), unit);
    std::vector<GLint>& places = scalars.emplace_back();
    for (int scalar = 0; scalar < kernel.scalars; ++scalar)
      places.push_back(gl.glGetUniformLocation(program->name(), cat("s", scalar).c_str()));
    programs.push_back(std::move(program));
  }
  return std::unique_ptr<Draws>(new Draws(kernels, std::move(programs), std::move(scalars)));
}

}  // namespace gossamer::runtime::webgl
