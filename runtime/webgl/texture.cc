#include "runtime/webgl/texture.h"

#include "runtime/opengl/fence.h"

namespace gossamer::runtime::webgl {

using ir::DType;

Format format_of(DType storage) {
  if (storage == DType::f32) return {GL_RGBA32F, GL_RGBA, GL_FLOAT};
  if (storage == DType::i32) return {GL_RGBA32I, GL_RGBA_INTEGER, GL_INT};
  GS_CHECK(storage == DType::u32 || ir::byte_size(storage) <= 2,
           "the manifest's reader lets no other type through");
  return {GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT};
}

Texture::OfType& Texture::of_type(DType storage) {
  return types_[storage == DType::f32 ? 0 : storage == DType::i32 ? 1 : 2];
}

Texture::~Texture() {
  const auto attached = context_->attach();
  const opengl::Gl& gl = context_->gl();
  for (const OfType& made : types_) {
    if (made.frame) gl.glDeleteFramebuffers(1, &made.frame);
    if (made.texture) gl.glDeleteTextures(1, &made.texture);
  }
}

Result<GLuint> Texture::texture(DType storage) {
  const opengl::Gl& gl = context_->gl();
  GLuint& made = of_type(storage).texture;
  if (made) {
    gl.glBindTexture(target(), made);
    return made;
  }
  GS_TRY(opengl::check_errors(gl));
  const auto [internal, format, element] = format_of(storage);
  gl.glGenTextures(1, &made);
  gl.glBindTexture(target(), made);
  for (const GLenum name : {GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER})
    gl.glTexParameteri(target(), name, GL_NEAREST);
  for (const GLenum name : {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T})
    gl.glTexParameteri(target(), name, GL_CLAMP_TO_EDGE);
  if (layers() > 1)
    gl.glTexImage3D(target(), 0, internal, width(), height(), layers(), 0, format, element,
                    nullptr);
  else
    gl.glTexImage2D(target(), 0, internal, width(), height(), 0, format, element, nullptr);
  GS_TRY(opengl::check_errors(gl));
  return made;
}

Result<GLuint> Texture::frame(DType storage) {
  const opengl::Gl& gl = context_->gl();
  GLuint& made = of_type(storage).frame;
  if (made) {
    gl.glBindFramebuffer(GL_FRAMEBUFFER, made);
    return made;
  }
  GS_ASSIGN(const GLuint texture, this->texture(storage));
  GLuint frame = 0;
  gl.glGenFramebuffers(1, &frame);
  gl.glBindFramebuffer(GL_FRAMEBUFFER, frame);
  std::vector<GLenum> attached;
  for (int layer = 0; layer < layers(); ++layer) {
    attached.push_back(GL_COLOR_ATTACHMENT0 + static_cast<GLenum>(layer));
    if (layers() > 1)
      gl.glFramebufferTextureLayer(GL_FRAMEBUFFER, attached.back(), texture, 0, layer);
    else
      gl.glFramebufferTexture2D(GL_FRAMEBUFFER, attached.back(), GL_TEXTURE_2D, texture, 0);
  }
  gl.glDrawBuffers(layers(), attached.data());
  const GLenum status = gl.glCheckFramebufferStatus(GL_FRAMEBUFFER);
  if (status != GL_FRAMEBUFFER_COMPLETE) {
    gl.glDeleteFramebuffers(1, &frame);
    GS_TRY(opengl::check_errors(gl));
    return fail(cat("the OpenGL driver cannot draw into ", layers(), " ", ir::name_of(storage),
                    " textures of ", width(), " x ", height(), " (status ", status, ")"));
  }
  return made = frame;
}

}  // namespace gossamer::runtime::webgl
