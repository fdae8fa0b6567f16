#include "runtime/opengl/context.h"

#include <algorithm>
#include <vector>

namespace gossamer::runtime::opengl {
namespace {

template <class Function>
Function extension(const Egl& egl, const char* name) {
  return reinterpret_cast<Function>(egl.eglGetProcAddress(name));
}

// GPUs first, then drivers in software, then whatever is there by default.
std::vector<EGLDisplay> displays(const Egl& egl) {
  std::vector<EGLDisplay> all, software;
  const char* known = egl.eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  const auto get = extension<PFNEGLGETPLATFORMDISPLAYEXTPROC>(egl, "eglGetPlatformDisplayEXT");
  const auto devices = extension<PFNEGLQUERYDEVICESEXTPROC>(egl, "eglQueryDevicesEXT");
  const auto describe = extension<PFNEGLQUERYDEVICESTRINGEXTPROC>(egl, "eglQueryDeviceStringEXT");
  if (get && devices && describe && has_word(known, "EGL_EXT_platform_device")) {
    EGLDeviceEXT found[32];
    EGLint count = 0;
    if (!devices(32, found, &count)) count = 0;
    for (EGLint at = 0; at < count; ++at) {
      const EGLDisplay display = get(EGL_PLATFORM_DEVICE_EXT, found[at], nullptr);
      const bool cpu = has_word(describe(found[at], EGL_EXTENSIONS), "EGL_MESA_device_software");
      if (display != EGL_NO_DISPLAY) (cpu ? software : all).push_back(display);
    }
  }
  all.insert(all.end(), software.begin(), software.end());
  if (get && has_word(known, "EGL_MESA_platform_surfaceless"))
    all.push_back(get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr));
  all.push_back(egl.eglGetDisplay(EGL_DEFAULT_DISPLAY));
  std::erase(all, EGL_NO_DISPLAY);
  return all;
}

bool is_software(std::string_view renderer) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"llvmpipe", "softpipe", "SwiftShader"},
      [&](std::string_view name) { return renderer.contains(name); });
}

}  // namespace

std::shared_ptr<void> Context::attach() {
  turn_.lock();
  if (attached_++ == 0) {
    before_ = {egl_.eglQueryAPI(), egl_.eglGetCurrentDisplay(), egl_.eglGetCurrentSurface(EGL_DRAW),
               egl_.eglGetCurrentSurface(EGL_READ), egl_.eglGetCurrentContext()};
    egl_.eglBindAPI(es_ ? EGL_OPENGL_ES_API : EGL_OPENGL_API);
    egl_.eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_);
  }
  return {this, [own = shared_from_this()](void*) { own->detach(); }};
}

void Context::detach() {
  if (--attached_ == 0) {
    egl_.eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    egl_.eglBindAPI(before_.api);
    if (before_.context != EGL_NO_CONTEXT)
      egl_.eglMakeCurrent(before_.display, before_.draw, before_.read, before_.context);
  }
  turn_.unlock();
}

std::shared_ptr<Context> Context::create_on(const Egl& egl, EGLDisplay display, Form form,
                                            const Version& version) {
  const bool es = version.es;
  const EGLenum before = egl.eglQueryAPI();
  egl.eglBindAPI(es ? EGL_OPENGL_ES_API : EGL_OPENGL_API);
  const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                           es ? EGL_OPENGL_ES3_BIT : EGL_OPENGL_BIT, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (!egl.eglChooseConfig(display, wanted, &config, 1, &count) || count == 0) config = nullptr;
  std::vector<EGLint> attributes = {EGL_CONTEXT_MAJOR_VERSION, version.major,
                                    EGL_CONTEXT_MINOR_VERSION, version.minor};
  if (!es)
    attributes.insert(attributes.end(),
                      {EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT});
  attributes.push_back(EGL_NONE);
  const EGLContext made = egl.eglCreateContext(display, config, EGL_NO_CONTEXT, attributes.data());
  egl.eglBindAPI(before);
  if (made == EGL_NO_CONTEXT) return {};
  std::shared_ptr<Context> context(new Context(egl, display, made, es));
  const auto attached = context->attach();
  auto functions = opengl::gl(egl, form);
  if (egl.eglGetCurrentContext() != made || !functions) return {};
  context->gl_ = *functions;
  // OpenGL 3.3 draws into float textures by itself.
  if (form == Form::fragments && es && !context->has("GL_EXT_color_buffer_float")) return {};
  const auto text = [&](GLenum what) {
    const GLubyte* value = context->gl_.glGetString(what);
    return std::string(value ? reinterpret_cast<const char*>(value) : "?");
  };
  context->renderer_ = text(GL_RENDERER);
  context->version_ = text(GL_VERSION);
  context->software_ = is_software(context->renderer_);
  return context;
}

bool Context::has(std::string_view extension) const {
  const GLubyte* all = gl_.glGetString(GL_EXTENSIONS);
  return has_word(reinterpret_cast<const char*>(all), extension);
}

int Context::number(GLenum what) const {
  GLint value = 0;
  gl_.glGetIntegerv(what, &value);
  return value;
}

Result<std::shared_ptr<Context>> Context::create(Form form) {
  static std::mutex one;
  static std::weak_ptr<Context> known[2];
  const std::lock_guard lock(one);
  std::weak_ptr<Context>& mine = known[static_cast<size_t>(form)];
  if (auto here = mine.lock()) return here;
  auto made = create_anew(form);
  if (made) mine = *made;
  return made;
}

Result<std::shared_ptr<Context>> Context::create_anew(Form form) {
  // Fragment shaders are text of OpenGL ES.
  constexpr Version compute[] = {{false, 4, 3}, {true, 3, 1}};
  constexpr Version fragments[] = {{true, 3, 0}, {false, 3, 3}};
  GS_ASSIGN(const Egl* const egl, opengl::egl());
  for (const EGLDisplay display : displays(*egl)) {
    if (!egl->eglInitialize(display, nullptr, nullptr)) continue;
    for (const Version& version : form == Form::compute ? compute : fragments)
      if (auto context = create_on(*egl, display, form, version)) return context;
  }
  return fail(
      cat("no OpenGL driver here ",
          form == Form::compute
              ? "has compute shaders (OpenGL 4.3 or OpenGL ES 3.1)"
              : "draws into float textures (OpenGL ES 3.0 with EXT_color_buffer_float, or OpenGL "
                "3.3)",
          " without a window"),
      "install a driver: your GPU's, or libegl-mesa0 and libgl1-mesa-dri for the CPU");
}

Context::~Context() { egl_.eglDestroyContext(display_, context_); }

}  // namespace gossamer::runtime::opengl
