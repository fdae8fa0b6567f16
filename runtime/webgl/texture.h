// A slot of a package for webgl.
#pragma once

#include <array>
#include <vector>

#include "runtime/device.h"
#include "runtime/opengl/context.h"

namespace gossamer::runtime::webgl {

constexpr size_t texel_bytes = 16;

// What OpenGL calls texels of a storage type: of f32, i32 or u32, or of smaller types in words of
// u32.
struct Format {
  GLint internal;
  GLenum format, element;
};
Format format_of(ir::DType storage);

// Tensors of several types may share it, so it has a texture for each type in use.
class Texture : public Buffer {
 public:
  // `bytes`: of it, at most what the extent has.
  Texture(std::shared_ptr<opengl::Context> context, const Extent& extent, size_t bytes)
      : context_(std::move(context)), extent_(extent), bytes_(bytes) {}
  ~Texture() override;
  size_t size() const override { return bytes_; }
  GLsizei width() const { return extent_.width; }
  GLsizei height() const { return static_cast<GLsizei>(extent_.height); }
  int layers() const { return extent_.layers; }
  GLenum target() const { return layers() > 1 ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D; }

  // Both while the context is current; they leave it bound. Errors: no memory, no rendering to it.
  Result<GLuint> texture(ir::DType storage);
  // A framebuffer with each layer attached.
  Result<GLuint> frame(ir::DType storage);

 private:
  struct OfType {
    GLuint texture = 0, frame = 0;
  };
  OfType& of_type(ir::DType storage);

  std::shared_ptr<opengl::Context> context_;
  Extent extent_;
  size_t bytes_;
  std::array<OfType, 3> types_;
};

}  // namespace gossamer::runtime::webgl
