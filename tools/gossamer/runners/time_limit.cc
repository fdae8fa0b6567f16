#include "gossamer/runners/time_limit.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gossamer::command {

TimeLimit::TimeLimit(double seconds, int status, std::function<void()> late) {
  if (seconds <= 0) return;
  watch_ = std::thread([this, seconds, status, late = std::move(late)] {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return over_; }))
      return;
    late();
    std::fflush(nullptr);
    std::_Exit(status);
  });
}

TimeLimit::~TimeLimit() {
  if (!watch_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  watch_.join();
}

}  // namespace gossamer::command
