// An end for what this process computes and nothing else ends: a kernel that does not return, in
// machine code, in a driver or in an engine, holds its thread for good.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace gossamer::command {

class TimeLimit {
 public:
  // Calls `late` on a thread of its own where this lives longer than so long (0: never), and ends
  // the process with `status`, without destructors: others may still be at work.
  TimeLimit(double seconds, int status, std::function<void()> late);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread watch_;
};

}  // namespace gossamer::command
