// The GPUs of this machine by target, without a model.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/target.h"
#include "runtime/device.h"

namespace gossamer::runtime {

// Of a GPU target. Error: this machine has none for it.
Result<std::unique_ptr<Device>> make_gpu_device(TargetKind target);

// What the device of the target of this name calls itself, Device::description; "" where there is
// none, or for what is no GPU. It is opened for that, once in a process.
std::string device_here(std::string_view target);

}  // namespace gossamer::runtime
