// The devices of this machine by target, without a model.
#pragma once

#include <string>
#include <string_view>

namespace gossamer::runtime {

// What the device of a GPU target (opencl, opengl, webgpu, webgl) calls itself,
// Device::description.
// "" where there is none, or for other targets. It is opened for that, once in a process.
std::string device_here(std::string_view target);

}  // namespace gossamer::runtime
