#include "runtime/device_here.h"

#include <map>
#include <mutex>

#include "runtime/opencl/device.h"
#include "runtime/opengl/device.h"
#include "runtime/webgl/device.h"
#include "runtime/webgpu/device.h"

namespace gossamer::runtime {
namespace {

std::string describe(std::string_view target) {
  using Made = Result<std::unique_ptr<Device>>;
  const Made device = target == "opencl"   ? make_opencl_device()
                      : target == "opengl" ? make_opengl_device()
                      : target == "webgpu" ? make_webgpu_device()
                      : target == "webgl"  ? make_webgl_device()
                                           : Made(fail("has no devices"));
  return device ? (*device)->description() : "";
}

}  // namespace

std::string device_here(std::string_view target) {
  static std::mutex mutex;
  static std::map<std::string, std::string, std::less<>> known;
  const std::scoped_lock lock(mutex);
  auto found = known.find(target);
  if (found == known.end()) found = known.emplace(target, describe(target)).first;
  return found->second;
}

}  // namespace gossamer::runtime
