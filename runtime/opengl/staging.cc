#include "runtime/opengl/staging.h"

#include <cstring>

#include "runtime/opengl/fence.h"

namespace gossamer::runtime::opengl {

Staging::~Staging() {
  const auto attached = context_->attach();
  context_->gl().glDeleteBuffers(1, &buffer_);
}

void Staging::bind(size_t bytes) {
  const Gl& gl = context_->gl();
  if (!buffer_) gl.glGenBuffers(1, &buffer_);
  gl.glBindBuffer(target_, buffer_);
  if (size_ >= bytes) return;
  gl.glBufferData(target_, static_cast<GLsizeiptr>(bytes), nullptr, GL_STREAM_READ);
  size_ = bytes;
}

void Staging::fill(std::span<const std::byte> bytes) {
  const Gl& gl = context_->gl();
  if (!buffer_) gl.glGenBuffers(1, &buffer_);
  gl.glBindBuffer(target_, buffer_);
  gl.glBufferData(target_, static_cast<GLsizeiptr>(bytes.size()), bytes.data(), GL_STREAM_COPY);
  size_ = bytes.size();
}

Result<> Staging::read(size_t bytes, std::span<const Part> parts) {
  const Gl& gl = context_->gl();
  const void* const mapped =
      gl.glMapBufferRange(target_, 0, static_cast<GLsizeiptr>(bytes), GL_MAP_READ_BIT);
  if (!mapped) {
    GS_TRY(check_errors(gl));
    return fail("the OpenGL driver does not let its memory be read");
  }
  for (const auto& [at, to] : parts)
    std::memcpy(to.data(), static_cast<const std::byte*>(mapped) + at, to.size());
  gl.glUnmapBuffer(target_);
  return check_errors(gl);
}

}  // namespace gossamer::runtime::opengl
