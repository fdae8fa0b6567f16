// What is read comes through a buffer of its own: drivers move one that is mapped to the host's
// memory. So does what is written in turn with launches.
#pragma once

#include "runtime/device.h"
#include "runtime/opengl/context.h"

namespace gossamer::runtime::opengl {

class Staging {
 public:
  // `target`: where it is bound.
  Staging(std::shared_ptr<Context> context, GLenum target)
      : context_(std::move(context)), target_(target) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // What lies there from a byte on goes to the host.
  struct Part {
    size_t at;
    std::span<std::byte> to;
  };
  // These while the context is current. Bound, with room for so many bytes:
  void bind(size_t bytes);
  // Bound, with these bytes, in memory that nothing queued before reads.
  void fill(std::span<const std::byte> bytes);
  // Waits for what writes it. Errors: what the driver has noted.
  Result<> read(size_t bytes, std::span<const Part> parts);

 private:
  std::shared_ptr<Context> context_;
  GLenum target_;
  GLuint buffer_ = 0;
  size_t size_ = 0;
};

}  // namespace gossamer::runtime::opengl
