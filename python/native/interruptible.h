// Long calls from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace gossamer::python {

// Calls in a thread of its own, so that Ctrl+C ends the wait: what was begun goes on unheard.
// `meanwhile` is called with the interpreter's lock, now and then; what it throws ends the wait
// too.
template <class T>
T interruptible(std::function<T()> call, const std::function<void()>& meanwhile = {}) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<T> result;
  };
  const auto shared = std::make_shared<Shared>();
  std::thread([shared, call = std::move(call)] {
    T made = call();
    const std::lock_guard lock(shared->mutex);
    shared->result.emplace(std::move(made));
    shared->done.notify_all();
  }).detach();
  while (true) {
    {
      const nanobind::gil_scoped_release release;
      std::unique_lock lock(shared->mutex);
      shared->done.wait_for(lock, std::chrono::milliseconds(50),
                            [&] { return shared->result.has_value(); });
      if (shared->result) break;
    }
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    if (meanwhile) meanwhile();
  }
  return *std::move(shared->result);
}

}  // namespace gossamer::python
