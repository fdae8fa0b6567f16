// Shaders and what is linked of them.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "runtime/device.h"
#include "runtime/opengl/context.h"

namespace gossamer::runtime::opengl {

// Goes with its last owner.
template <auto remove>
class Owned {
 public:
  Owned(std::shared_ptr<Context> context, GLuint name)
      : context_(std::move(context)), name_(name) {}
  Owned(Owned&& other) noexcept : context_(other.context_), name_(std::exchange(other.name_, 0)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (!name_) return;
    const auto attached = context_->attach();
    (context_->gl().*remove)(name_);
  }
  GLuint name() const { return name_; }

 private:
  std::shared_ptr<Context> context_;
  GLuint name_;
};

using Shader = Owned<&Gl::glDeleteShader>;
using Program = Owned<&Gl::glDeleteProgram>;

// All of these while the context is current.

// Whether it compiles is told where it is linked.
Shader make_shader(const std::shared_ptr<Context>& context, GLenum kind,
                   std::initializer_list<std::string_view> text);
// Errors: the driver's compiler refuses it, with its words.
Result<Program> link(const std::shared_ptr<Context>& context, std::span<const Shader* const> parts);

// Of shaders for OpenGL, a program a kernel.
class Programs : public Executable {
 public:
  Programs(std::span<const KernelEntry> kernels, std::vector<std::shared_ptr<Program>> programs)
      : kernels_(kernels.begin(), kernels.end()), programs_(std::move(programs)) {}
  std::span<const KernelEntry> kernels() const override { return kernels_; }
  GLuint program(int kernel) const { return programs_[static_cast<size_t>(kernel)]->name(); }
  Result<> plan(int segment, std::span<const int64_t>, std::span<double>) const override {
    return fail(cat("the code has no segment ", segment, " of a plan"));
  }

 private:
  std::vector<KernelEntry> kernels_;
  std::vector<std::shared_ptr<Program>> programs_;
};

}  // namespace gossamer::runtime::opengl
