// Packages for webgl without a browser: fragment shaders that draw into textures, through OpenGL ES
// 3.0 or OpenGL 3.3 and the EGL that is installed, without a window.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

// The first GPU, or else a driver in software. Calls may come from any thread, one at a time, and
// leave the thread's own context as it was. Launches draw whole rows of texels, and memory of so
// many bytes is a texture of `webgl_width`. Errors: no EGL (libEGL.so.1), no driver that draws into
// float textures, with what to install.
Result<std::unique_ptr<Device>> make_webgl_device();
constexpr int webgl_width = 64;

}  // namespace gossamer::runtime
