// What this processor reaches at most.
#pragma once

#include "gossamer/profile.hpp"
#include "runtime/cpu/thread_pool.h"

namespace gossamer::runtime {

// On all threads of the pool, the fastest of some tries.
Limits measure_limits(ThreadPool& pool);

}  // namespace gossamer::runtime
