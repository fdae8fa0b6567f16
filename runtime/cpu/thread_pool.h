// Fork and join over a range of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace gossamer::runtime {

// Threads that wait for work, spinning for about a millisecond (the time between two kernels of a
// run) before they sleep.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // at least 1; the caller counts
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  using Work = void (*)(int64_t begin, int64_t end, const void* context);
  // Covers [0, range) by calls of `work`, some on other threads; returns when all are done. One
  // thread at a time may call it.
  void run(int64_t range, Work work, const void* context);

 private:
  void work_loop();
  void take_chunks();

  std::vector<std::thread> workers_;
  // The job: written while it is closed and nobody is active.
  Work work_ = nullptr;
  const void* context_ = nullptr;
  int64_t range_ = 0, chunk_ = 1;
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<int64_t> next_{0};
  // Workers between asking whether the job is open and leaving it. A job is closed before its end,
  // so that one who comes late touches nothing and is not waited for.
  alignas(64) std::atomic<int> active_{0};
  alignas(64) std::atomic<bool> open_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace gossamer::runtime
