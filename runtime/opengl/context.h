// A context without a surface: of OpenGL 4.3, else of OpenGL ES 3.1.
#pragma once

#include <memory>
#include <string>

#include "runtime/opengl/library.h"

namespace gossamer::runtime::opengl {

class Context {
 public:
  // On the first GPU that has one, else on a driver in software. Errors say what to install.
  static Result<std::shared_ptr<Context>> create();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Current on this thread as long as what this gives lives; then what was current before.
  std::shared_ptr<void> attach();
  const Gl& gl() const { return gl_; }
  bool es() const { return es_; }
  bool software() const { return software_; }
  std::string renderer() const { return renderer_; }
  std::string version() const { return version_; }

 private:
  Context(const Egl& egl, EGLDisplay display, EGLContext context, bool es)
      : egl_(egl), display_(display), context_(context), es_(es) {}
  static std::shared_ptr<Context> create_on(const Egl& egl, EGLDisplay display, bool es);
  class Attached;

  const Egl& egl_;
  EGLDisplay display_;
  EGLContext context_;
  bool es_, software_ = false;
  Gl gl_;
  std::string renderer_, version_;
  std::weak_ptr<void> attached_;
};

}  // namespace gossamer::runtime::opengl
