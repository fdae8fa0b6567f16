// Compute shaders of OpenGL 4.3 or OpenGL ES 3.1, without a window, through the EGL that is
// installed.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

// The first GPU, or else a driver in software. Calls may come from any thread, one at a time, and
// leave the thread's own context as it was. Errors: no EGL (libEGL.so.1), no driver with compute
// shaders, with what to install.
Result<std::unique_ptr<Device>> make_opengl_device();

}  // namespace gossamer::runtime
