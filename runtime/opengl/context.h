// A context without a surface: for compute shaders of OpenGL 4.3, else of OpenGL ES 3.1; for
// fragment shaders of OpenGL ES 3.0 that draw into float textures, else of OpenGL 3.3.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "runtime/opengl/library.h"

namespace gossamer::runtime::opengl {

// One a process and form while somebody has it: drivers take tens of megabytes for each.
class Context : public std::enable_shared_from_this<Context> {
 public:
  // On the first GPU that has one, else on a driver in software. Errors say what to install.
  static Result<std::shared_ptr<Context>> create(Form form);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Current on this thread as long as what this gives lives there; then what was current before.
  // Other threads wait.
  std::shared_ptr<void> attach();
  const Gl& gl() const { return gl_; }
  bool es() const { return es_; }
  bool software() const { return software_; }
  std::string renderer() const { return renderer_; }
  std::string version() const { return version_; }
  // A number of the driver's, such as GL_MAX_TEXTURE_SIZE; while it is current.
  int number(GLenum what) const;

 private:
  Context(const Egl& egl, EGLDisplay display, EGLContext context, bool es)
      : egl_(egl), display_(display), context_(context), es_(es) {}
  struct Version {
    bool es;
    EGLint major, minor;
  };
  static Result<std::shared_ptr<Context>> create_anew(Form form);
  static std::shared_ptr<Context> create_on(const Egl& egl, EGLDisplay display, Form form,
                                            const Version& version);
  bool has(std::string_view extension) const;  // of OpenGL ES
  void detach();

  const Egl& egl_;
  EGLDisplay display_;
  EGLContext context_;
  bool es_, software_ = false;
  Gl gl_;
  std::string renderer_, version_;
  std::recursive_mutex turn_;
  int attached_ = 0;  // how often, by the thread whose turn it is
  // What was current there.
  struct Current {
    EGLenum api = EGL_OPENGL_ES_API;
    EGLDisplay display = EGL_NO_DISPLAY;
    EGLSurface draw = EGL_NO_SURFACE, read = EGL_NO_SURFACE;
    EGLContext context = EGL_NO_CONTEXT;
  } before_;
};

}  // namespace gossamer::runtime::opengl
