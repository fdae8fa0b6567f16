#include "runtime/opencl/library.h"

#include "runtime/system_library.h"

namespace gossamer::runtime::opencl {
namespace {

constexpr const char* install =
    "install an OpenCL loader and a driver: ocl-icd-libopencl1 with your GPU's driver, or "
    "pocl-opencl-icd for the CPU";

Result<Library> load() {
  GS_ASSIGN(const SystemLibrary file,
            SystemLibrary::open({"libOpenCL.so.1", "libOpenCL.so"}, install));
  Library all;
#define GS_FIND(name)                                                \
  all.name = reinterpret_cast<decltype(all.name)>(file.find(#name)); \
  if (!all.name) return fail("libOpenCL.so.1 has no " #name, install);
  GS_OPENCL_FUNCTIONS(GS_FIND)
#undef GS_FIND
  return all;
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

std::string error_text(std::string_view call, cl_int code) {
  const std::string_view function = call.substr(0, call.find('('));
  const char* name = nullptr;
  switch (code) {
#define GS_NAME(code) \
  case code:          \
    name = #code;     \
    break;
    GS_NAME(CL_DEVICE_NOT_FOUND)
    GS_NAME(CL_DEVICE_NOT_AVAILABLE)
    GS_NAME(CL_COMPILER_NOT_AVAILABLE)
    GS_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    GS_NAME(CL_OUT_OF_RESOURCES)
    GS_NAME(CL_OUT_OF_HOST_MEMORY)
    GS_NAME(CL_BUILD_PROGRAM_FAILURE)
    GS_NAME(CL_INVALID_BUFFER_SIZE)
    GS_NAME(CL_INVALID_KERNEL_NAME)
    GS_NAME(CL_INVALID_WORK_GROUP_SIZE)
    GS_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
#undef GS_NAME
    default:
      break;
  }
  return name ? cat(function, ": ", name) : cat(function, ": error ", code);
}

}  // namespace gossamer::runtime::opencl
