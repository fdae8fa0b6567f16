#include "runtime/webgpu/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "runtime/system_library.h"

namespace gossamer::runtime::webgpu {
namespace {

constexpr const char* install =
    "install wgpu-native 29 or newer (the Python package wgpu has it, as "
    "wgpu/resources/libwgpu_native-release.so) or Dawn; GOSSAMER_WEBGPU_LIBRARY names the file";

constexpr uint32_t least_wgpu_native = 29u << 24;

// Functions that came with the last changes of structures before the header was stable. Not called:
// wgpu-native has them and ends the process in one.
constexpr const char* signs_of_stable_header[] = {"wgpuGetInstanceLimits",
                                                  "wgpuSupportedInstanceFeaturesFreeMembers"};

std::string version_text(uint32_t version) {
  return cat(version >> 24, ".", (version >> 16) & 255, ".", (version >> 8) & 255, ".",
             version & 255);
}

Result<Library> load() {
  const char* const named = std::getenv("GOSSAMER_WEBGPU_LIBRARY");
  const bool given = named && *named;
  GS_ASSIGN(const SystemLibrary file,
            given ? SystemLibrary::open({named}, install)
                  : SystemLibrary::open({"libwgpu_native.so", "libwebgpu_dawn.so"}, install));
  const std::string name = given ? named : "the webgpu.h library";
  if (!file.find("wgpuCreateInstance"))
    return fail_at(name, "is no library of webgpu.h: it has no wgpuCreateInstance", install);
  Library all;
#define GS_FIND(function, ...) \
  all.function = reinterpret_cast<decltype(all.function)>(file.find("wgpu" #function));
  GS_WGPU_NATIVE_FUNCTIONS(GS_FIND)
#undef GS_FIND
  all.about = all.GetVersion ? cat("wgpu-native ", version_text(all.GetVersion())) : "Dawn";
  if (all.GetVersion && all.GetVersion() < least_wgpu_native)
    return fail_at(name, cat("is ", all.about, ", whose structures are older ones"), install);
  for (const char* sign : signs_of_stable_header)
    if (!file.find(sign))
      return fail_at(name,
                     cat("is of a webgpu.h from before September 2025, whose structures are other "
                         "ones: it has no ",
                         sign),
                     install);
#define GS_FIND(function, ...)                                                          \
  all.function = reinterpret_cast<decltype(all.function)>(file.find("wgpu" #function)); \
  if (!all.function) return fail_at(name, "has no wgpu" #function, install);
  GS_WEBGPU_FUNCTIONS(GS_FIND)
#undef GS_FIND
#if __has_feature(address_sanitizer)
  // wgpu-native unloads the driver with each instance, and with it what points to its memory.
  dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_NODELETE);
#endif
  return all;
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace gossamer::runtime::webgpu
