#include "runtime/cpu/thread_pool.h"

#include <algorithm>
#include <chrono>

namespace gossamer::runtime {
namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until the value is another or about a millisecond is over.
bool spin_until_changed(const std::atomic<uint32_t>& value, uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  for (;;) {
    for (int turn = 0; turn < 64; ++turn) {
      if (value.load(std::memory_order_acquire) != old) return true;
      pause();
    }
    if (std::chrono::steady_clock::now() > end) return false;
  }
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int at = 1; at < threads; ++at) workers_.emplace_back([this] { work_loop(); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::take_chunks() {
  for (;;) {
    const int64_t begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
    if (begin >= range_) return;
    work_(begin, std::min(begin + chunk_, range_), context_);
  }
}

void ThreadPool::work_loop() {
  uint32_t seen = 0;
  for (;;) {
    if (!spin_until_changed(generation_, seen)) generation_.wait(seen, std::memory_order_acquire);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_) return;
    active_.fetch_add(1);  // before the question, as `open_` is closed before `active_` is read
    if (open_.load()) take_chunks();
    active_.fetch_sub(1);
  }
}

void ThreadPool::run(int64_t range, Work work, const void* context) {
  if (range <= 0) return;
  if (workers_.empty() || range == 1) return work(0, range, context);
  work_ = work;
  context_ = context;
  range_ = range;
  // Several chunks a thread even out what the threads start late or run slowly.
  chunk_ = std::max<int64_t>(1, range / (4 * threads()));
  next_.store(0, std::memory_order_relaxed);
  open_.store(true);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  take_chunks();
  open_.store(false);
  for (int turn = 0; active_.load() > 0; ++turn) {
    pause();
    if (turn % 1024 == 1023) std::this_thread::yield();  // a worker may have lost its core
  }
}

}  // namespace gossamer::runtime
