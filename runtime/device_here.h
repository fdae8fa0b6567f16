// The GPUs of this machine by target, without a model.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/target.h"
#include "runtime/device.h"

namespace gossamer::runtime {

// The device of a GPU target. Error: this machine does not have one.
Result<std::unique_ptr<Device>> make_gpu_device(TargetKind target);

// Device::description of the GPU target of this name; "" if this machine has no such device or the
// target does not run on a GPU. Opens the device once in a process.
std::string device_here(std::string_view target);

}  // namespace gossamer::runtime
