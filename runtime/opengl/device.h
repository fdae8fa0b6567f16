// Compute shaders of OpenGL 4.3 or OpenGL ES 3.1, without a window, through the EGL that is
// installed.
#pragma once

#include <string>

#include "runtime/device.h"

namespace gossamer::runtime {

// The first GPU, or else a driver in software. Calls may come from any thread, one at a time, and
// leave the thread's own context as it was. Errors: no EGL (libEGL.so.1), no driver with compute
// shaders, with what to install.
Result<std::unique_ptr<Device>> make_opengl_device();

// Of a driver whose compute shaders have so many storage blocks and invocations in a group: what
// kernels for it are compiled with (`limits` of the compiler's options). "": the usual ones.
std::string opengl_limits(int blocks, int invocations);
// Of the one that make_opengl_device() takes; "" where there is none.
std::string opengl_limits();

}  // namespace gossamer::runtime
