// The queue of the device webgl: a launch is a draw.
#pragma once

#include "runtime/opengl/staging.h"
#include "runtime/webgl/texture.h"

namespace gossamer::runtime::webgl {

class DrawQueue : public Queue {
 public:
  explicit DrawQueue(const std::shared_ptr<opengl::Context>& context)
      : context_(context), gl_(context->gl()), staging_(context, GL_PIXEL_PACK_BUFFER) {}
  Result<> write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                 ir::DType storage) override;
  Result<> read(std::span<const ReadArguments> reads) override;
  Result<> launch(const Executable& code, const LaunchArguments& arguments) override;
  Result<std::unique_ptr<Fence>> submit() override;

 private:
  Result<> draw(const Executable& code, const LaunchArguments& arguments);

  std::shared_ptr<opengl::Context> context_;
  const opengl::Gl& gl_;
  opengl::Staging staging_;
};

}  // namespace gossamer::runtime::webgl
