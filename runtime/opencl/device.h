// A device of OpenCL 1.2 or newer, through the loader that is installed.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

// The first GPU, or else the first device of another kind. Errors: no loader (libOpenCL.so.1) or no
// device, with what to install.
Result<std::unique_ptr<Device>> make_opencl_device();

}  // namespace gossamer::runtime
