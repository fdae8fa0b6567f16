// Fragment programs of a package's kernels.
#pragma once

#include "runtime/compiled.h"
#include "runtime/opengl/program.h"

namespace gossamer::runtime::webgl {

class Draws : public opengl::Programs {
 public:
  // While the context is current. Errors: no list of shaders, a kernel that the driver's compiler
  // refuses or that reads more textures than it can.
  static Result<std::unique_ptr<Draws>> build(const std::shared_ptr<opengl::Context>& context,
                                              Compiled<opengl::Program>& compiled,
                                              std::span<const std::byte> code,
                                              std::span<const KernelEntry> kernels);
  // Where uniforms s0, s1, ... are; -1 where the driver dropped one.
  std::span<const GLint> scalars(int kernel) const { return scalars_[static_cast<size_t>(kernel)]; }

 private:
  Draws(std::span<const KernelEntry> kernels,
        std::vector<std::shared_ptr<opengl::Program>> programs,
        std::vector<std::vector<GLint>> scalars)
      : Programs(kernels, std::move(programs)), scalars_(std::move(scalars)) {}
  std::vector<std::vector<GLint>> scalars_;
};

}  // namespace gossamer::runtime::webgl
