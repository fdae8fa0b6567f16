// This machine's processor: kernels.so, run by a pool of threads.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

// `threads`: 0 takes one a core. The caller's thread is one of them.
std::unique_ptr<Device> make_cpu_device(int threads = 0);

}  // namespace gossamer::runtime
