// Requests of a model that wait for it: one thread runs them in the order they came, and may join
// those that wait together along the first dimension.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "serve/protocol.h"

namespace gossamer::serve {

struct QueueOptions {
  // Rows of a joined run; 1 joins nothing. Joining asks that a row's answer depends on no other
  // row, which no signature says: the first joined run is compared with its requests run alone, and
  // where they differ there are no more joined runs.
  int64_t max_batch = 1;
  size_t max_waiting = 256;
};

class ModelQueue {
 public:
  using Tensors = std::vector<runtime::HostTensor>;
  using Clock = std::chrono::steady_clock;
  using Run = std::function<Result<>(std::span<const runtime::TensorView>, Tensors&)>;

  struct Answer {
    Result<Tensors> outputs;
    bool expired = false;  // its deadline passed while it waited
    double waited = 0;     // seconds
  };
  // Called on the queue's thread.
  using Done = std::function<void(Answer)>;
  struct RunReport {
    size_t requests = 1;  // that the run answered
    double seconds = 0;
  };

  // `run` is called on one thread. `on_run` after each run, `on_notice` with lines for the operator
  // of the server.
  ModelQueue(Signature signature, Run run, QueueOptions options,
             std::function<void(const RunReport&)> on_run = {},
             std::function<void(const std::string&)> on_notice = {});
  ~ModelQueue();  // answers what waits first
  ModelQueue(const ModelQueue&) = delete;
  ModelQueue& operator=(const ModelQueue&) = delete;

  // False where max_waiting requests wait already; `done` is then not called.
  bool submit(Tensors feeds, Clock::time_point deadline, Done done);
  size_t waiting() const;
  // Whether requests may be joined: every input's first dimension is one and the same free one, and
  // every output's is free.
  static bool joinable(const Signature& signature);

 private:
  struct Waiting {
    Tensors feeds;
    Clock::time_point since, deadline;
    Done done;
  };
  using Batch = std::vector<Waiting>;

  void work();
  Batch take();
  void answer(Batch batch);
  bool answer_joined(Batch& batch);
  Result<Tensors> run_feeds(const Tensors& feeds);
  bool agrees(const Batch& batch, const std::vector<Tensors>& parts);

  const Signature signature_;
  const Run run_;
  const QueueOptions options_;
  const std::function<void(const RunReport&)> on_run_;
  const std::function<void(const std::string&)> on_notice_;
  bool joins_ = false;    // of the queue's thread
  bool checked_ = false;  // a joined run agreed with its requests alone
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gossamer::serve
