// This machine's GPU through a library that implements webgpu.h: packages for webgpu, as in a page.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

// On the fastest adapter. Errors: no such library, one of an older webgpu.h, no adapter; they say
// what to install.
Result<std::unique_ptr<Device>> make_webgpu_device();

}  // namespace gossamer::runtime
