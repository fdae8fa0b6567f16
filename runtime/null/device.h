// A device that keeps memory and checks launches, but runs nothing: to measure the run time itself,
// and to start a new device from.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

std::unique_ptr<Device> make_null_device();

}  // namespace gossamer::runtime
