#include "runtime/device_here.h"

#include <map>
#include <mutex>

#include "runtime/opencl/device.h"
#include "runtime/opengl/device.h"
#include "runtime/webgl/device.h"
#include "runtime/webgpu/device.h"

namespace gossamer::runtime {

Result<std::unique_ptr<Device>> make_gpu_device(TargetKind target) {
  switch (target) {
    case TargetKind::opencl:
      return make_opencl_device();
    case TargetKind::opengl:
      return make_opengl_device();
    case TargetKind::webgpu:
      return make_webgpu_device();
    case TargetKind::webgl:
      return make_webgl_device();
    case TargetKind::cpu:
    case TargetKind::wasm:
      break;
  }
  return fail("is not a GPU");
}

std::string device_here(std::string_view name) {
  const auto named = target_named(name);
  if (!named) return "";
  const TargetKind target = *named;
  static std::mutex mutex;
  static std::map<TargetKind, std::string> known;
  const std::scoped_lock lock(mutex);
  auto found = known.find(target);
  if (found == known.end()) {
    const auto device = make_gpu_device(target);
    found = known.emplace(target, device ? (*device)->description() : "").first;
  }
  return found->second;
}

}  // namespace gossamer::runtime
