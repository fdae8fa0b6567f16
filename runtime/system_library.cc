#include "runtime/system_library.h"

#include <dlfcn.h>

namespace gossamer::runtime {

Result<SystemLibrary> SystemLibrary::open(std::initializer_list<const char*> names,
                                          const std::string& install) {
  std::string said;
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return SystemLibrary(handle);
    const char* why = dlerror();
    if (said.empty()) said = why ? why : name;
  }
  return fail(said, install);
}

void* SystemLibrary::find(const char* name) const { return dlsym(handle_, name); }

}  // namespace gossamer::runtime
