#include "runtime/opengl/program.h"

#include <algorithm>

namespace gossamer::runtime::opengl {

Shader make_shader(const std::shared_ptr<Context>& context, GLenum kind,
                   std::initializer_list<std::string_view> text) {
  const Gl& gl = context->gl();
  std::vector<const GLchar*> parts;
  std::vector<GLint> lengths;
  for (const std::string_view part : text) {
    parts.push_back(part.data());
    lengths.push_back(static_cast<GLint>(part.size()));
  }
  const GLuint shader = gl.glCreateShader(kind);
  gl.glShaderSource(shader, static_cast<GLsizei>(parts.size()), parts.data(), lengths.data());
  gl.glCompileShader(shader);
  return {context, shader};
}

Result<Program> link(const std::shared_ptr<Context>& context,
                     std::span<const Shader* const> parts) {
  const Gl& gl = context->gl();
  Program program(context, gl.glCreateProgram());
  for (const Shader* part : parts) gl.glAttachShader(program.name(), part->name());
  gl.glLinkProgram(program.name());
  GLint linked = 0;
  gl.glGetProgramiv(program.name(), GL_LINK_STATUS, &linked);
  if (linked) return program;
  std::string log(4096, '\0');
  const auto most = static_cast<GLsizei>(log.size());
  GLsizei length = 0;
  const auto refused = std::ranges::find_if(parts, [&](const Shader* part) {
    GLint compiled = 0;
    gl.glGetShaderiv(part->name(), GL_COMPILE_STATUS, &compiled);
    return !compiled;
  });
  if (refused != parts.end())
    gl.glGetShaderInfoLog((*refused)->name(), most, &length, log.data());
  else
    gl.glGetProgramInfoLog(program.name(), most, &length, log.data());
  log.resize(static_cast<size_t>(std::max(length, 0)));
  return fail(cat("the driver's compiler refuses a kernel: ", log));
}

}  // namespace gossamer::runtime::opengl
