#include "runtime/webgl/device.h"

#include <algorithm>
#include <optional>

#include "runtime/host_memory.h"
#include "runtime/webgl/programs.h"
#include "runtime/webgl/queue.h"

namespace gossamer::runtime {
namespace {

using namespace webgl;  // NOLINT(google-build-using-namespace): this is its face
using opengl::Context;

constexpr size_t row_bytes = webgl_width * texel_bytes;

class WebglDevice : public Device {
 public:
  explicit WebglDevice(const std::shared_ptr<Context>& context)
      : context_(context), queue_(context) {
    const auto attached = attach();
    const opengl::Gl& gl = context->gl();
    most_ = context->number(GL_MAX_TEXTURE_SIZE);
    most_layers_ =
        std::min(context->number(GL_MAX_DRAW_BUFFERS), context->number(GL_MAX_COLOR_ATTACHMENTS));
    // OpenGL draws nothing without one. It goes with the context.
    GLuint vertices = 0;
    gl.glGenVertexArrays(1, &vertices);
    gl.glBindVertexArray(vertices);
    gl.glDisable(GL_DITHER);
  }
  std::string_view name() const override { return "webgl"; }
  std::string description() const override {
    return cat("webgl, ", context_->renderer(), ", ", context_->version());
  }
  bool hardware() const override { return !context_->software(); }
  std::shared_ptr<void> attach() override { return context_->attach(); }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override {
    const size_t rows = bytes / row_bytes + (bytes % row_bytes ? 1 : 0);
    return make({webgl_width, static_cast<int64_t>(rows), 1}, bytes);
  }
  Result<std::unique_ptr<Buffer>> allocate_texture(const Extent& extent) override {
    return make(extent, {});
  }
  Result<std::unique_ptr<Executable>> load(std::span<const std::byte> code,
                                           std::span<const KernelEntry> kernels,
                                           int plan_segments) override {
    if (plan_segments > 0) return fail("shaders have no plan: it is the side's");
    const auto attached = attach();
    GS_ASSIGN(std::unique_ptr<Executable> built, Draws::build(context_, compiled_, code, kernels));
    return built;
  }
  Queue& queue() override { return queue_; }

 private:
  // `bytes` that are not told are all of it.
  Result<std::unique_ptr<Buffer>> make(Extent extent, std::optional<size_t> bytes) {
    extent.height = std::max<int64_t>(extent.height, 1);
    if (extent.width > most_ || extent.height > most_)
      return fail(cat("needs a texture of ", extent.width, " x ", extent.height,
                      ", this device allows ", most_, " x ", most_));
    if (extent.layers > most_layers_)
      return fail(
          cat("needs ", extent.layers, " render targets, this device allows ", most_layers_));
    const size_t whole = static_cast<size_t>(extent.width) * static_cast<size_t>(extent.height) *
                         static_cast<size_t>(extent.layers) * texel_bytes;
    // A CPU that acts as a GPU takes this process's memory.
    if (context_->software()) GS_TRY(has_room(whole));
    return std::make_unique<Texture>(context_, extent, bytes.value_or(whole));
  }

  std::shared_ptr<Context> context_;
  Compiled<opengl::Program> compiled_;
  DrawQueue queue_;
  int most_ = 0, most_layers_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> make_webgl_device() {
  GS_ASSIGN(const std::shared_ptr<Context> context, Context::create(opengl::Form::fragments));
  return std::make_unique<WebglDevice>(context);
}

}  // namespace gossamer::runtime
