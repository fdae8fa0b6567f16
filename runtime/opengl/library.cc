#include "runtime/opengl/library.h"

#include "runtime/system_library.h"

namespace gossamer::runtime::opengl {
namespace {

constexpr const char* install =
    "install EGL and a driver: libegl1 with your GPU's driver, or libgl1-mesa-dri for the CPU";

Result<Egl> load() {
  GS_ASSIGN(const SystemLibrary file, SystemLibrary::open({"libEGL.so.1", "libEGL.so"}, install));
  Egl all;
#define GS_FIND(name)                                                \
  all.name = reinterpret_cast<decltype(all.name)>(file.find(#name)); \
  if (!all.name) return fail("libEGL.so.1 has no " #name, install);
  GS_EGL_FUNCTIONS(GS_FIND)
#undef GS_FIND
  return all;
}

}  // namespace

Result<const Egl*> egl() {
  static const Result<Egl> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

Result<Gl> gl(const Egl& egl, Form form) {
  Gl all;
#define GS_FIND(name)                                                            \
  all.name = reinterpret_cast<decltype(all.name)>(egl.eglGetProcAddress(#name)); \
  if (!all.name) return fail("the OpenGL driver has no " #name, install);
  GS_GL_FUNCTIONS(GS_FIND)
  if (form == Form::compute) {
    GS_GL_COMPUTE_FUNCTIONS(GS_FIND)
  } else {
    GS_GL_FRAGMENT_FUNCTIONS(GS_FIND)
  }
#undef GS_FIND
  return all;
}

bool has_word(const char* words, std::string_view word) {
  std::string_view left = words ? words : "";
  while (!left.empty()) {
    const size_t end = left.find(' ');
    if (left.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    left.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace gossamer::runtime::opengl
