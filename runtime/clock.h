// The host's time, as reports and profiles tell it.
#pragma once

#include <chrono>

namespace gossamer::runtime {

using Clock = std::chrono::steady_clock;

inline double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace gossamer::runtime
