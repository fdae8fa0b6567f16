#include "runtime/opengl/fence.h"

namespace gossamer::runtime::opengl {
namespace {

class GlFence : public Fence {
 public:
  GlFence(std::shared_ptr<Context> context, GLsync sync)
      : context_(std::move(context)), sync_(sync) {}
  ~GlFence() override {
    const auto attached = context_->attach();
    context_->gl().glDeleteSync(sync_);
  }
  bool passed() const override {
    const auto attached = context_->attach();
    const GLenum status = context_->gl().glClientWaitSync(sync_, 0, 0);
    return status == GL_ALREADY_SIGNALED || status == GL_CONDITION_SATISFIED;
  }
  Result<> wait() override {
    const auto attached = context_->attach();
    constexpr GLuint64 second = 1'000'000'000;
    GLenum status = GL_TIMEOUT_EXPIRED;
    while (status == GL_TIMEOUT_EXPIRED)
      status = context_->gl().glClientWaitSync(sync_, GL_SYNC_FLUSH_COMMANDS_BIT, second);
    if (status == GL_WAIT_FAILED) return fail("the OpenGL driver lost its device");
    return {};
  }

 private:
  std::shared_ptr<Context> context_;
  GLsync sync_;
};

}  // namespace

Result<> check_errors(const Gl& gl) {
  const GLenum code = gl.glGetError();
  if (code == GL_NO_ERROR) return {};
  while (gl.glGetError() != GL_NO_ERROR) {
  }
  if (code == GL_OUT_OF_MEMORY) return fail("the OpenGL driver is out of memory");
  return fail(cat("the OpenGL driver says error ", code));
}

Result<std::unique_ptr<Fence>> make_fence(const std::shared_ptr<Context>& context) {
  const Gl& gl = context->gl();
  GS_TRY(check_errors(gl));
  const GLsync sync = gl.glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  if (!sync) return fail("the OpenGL driver lost its device");
  gl.glFlush();
  return std::make_unique<GlFence>(context, sync);
}

}  // namespace gossamer::runtime::opengl
