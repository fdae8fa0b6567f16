#include "serve/model_queue.h"

#include <algorithm>

#include "serve/batch.h"

namespace gossamer::serve {
namespace {

double seconds_since(ModelQueue::Clock::time_point start) {
  return std::chrono::duration<double>(ModelQueue::Clock::now() - start).count();
}

// All inputs have the same number of rows; nothing where they do not.
int64_t rows_in(const ModelQueue::Tensors& feeds) {
  const int64_t rows = feeds[0].shape[0];
  for (const auto& feed : feeds)
    if (feed.shape[0] != rows) return -1;
  return rows;
}

}  // namespace

ModelQueue::ModelQueue(Signature signature, Run run, QueueOptions options,
                       std::function<void(const RunReport&)> on_run,
                       std::function<void(const std::string&)> on_notice)
    : signature_(std::move(signature)),
      run_(std::move(run)),
      options_(options),
      on_run_(std::move(on_run)),
      on_notice_(std::move(on_notice)),
      joins_(options.max_batch > 1 && joinable(signature_)),
      thread_([this] { work(); }) {}

ModelQueue::~ModelQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool ModelQueue::joinable(const Signature& signature) {
  const auto free = [](const runtime::Port& port) {
    return !port.shape.empty() && port.shape[0] == -1;
  };
  if (signature.inputs.empty() || !std::ranges::all_of(signature.outputs, free)) return false;
  return std::ranges::all_of(signature.inputs, [&](const runtime::Port& port) {
    return free(port) && !port.symbols.empty() && !port.symbols[0].empty() &&
           port.symbols[0] == signature.inputs[0].symbols[0];
  });
}

bool ModelQueue::submit(Tensors feeds, Clock::time_point deadline, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= options_.max_waiting) return false;
    waiting_.push_back({std::move(feeds), Clock::now(), deadline, std::move(done)});
  }
  wake_.notify_one();
  return true;
}

size_t ModelQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void ModelQueue::work() {
  for (;;) {
    Batch batch = take();
    if (batch.empty()) return;
    answer(std::move(batch));
  }
}

// The first of those that wait, and those right behind it that can be joined with it.
ModelQueue::Batch ModelQueue::take() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
  Batch batch;
  int64_t rows = 0;
  while (!waiting_.empty()) {
    Waiting& next = waiting_.front();
    const int64_t more = joins_ ? rows_in(next.feeds) : -1;
    if (!batch.empty() && (rows < 0 || more < 0 || rows + more > options_.max_batch ||
                           !same_rows(batch[0].feeds, next.feeds)))
      break;
    rows = more < 0 ? -1 : rows + more;
    batch.push_back(std::move(next));
    waiting_.pop_front();
  }
  return batch;
}

void ModelQueue::answer(Batch batch) {
  const auto now = Clock::now();
  for (Waiting& one : batch) {
    if (one.deadline > now) continue;
    one.done({fail("the request waited for too long"), true, seconds_since(one.since)});
  }
  std::erase_if(batch, [&](const Waiting& one) { return one.deadline <= now; });
  if (batch.size() > 1 && answer_joined(batch)) return;
  for (Waiting& one : batch) {
    const double waited = seconds_since(one.since);
    const auto start = Clock::now();
    auto outputs = run_feeds(one.feeds);
    if (outputs && on_run_) on_run_({1, seconds_since(start)});
    one.done({std::move(outputs), false, waited});
  }
}

// False where the requests have to run alone; nothing is answered then.
bool ModelQueue::answer_joined(Batch& batch) {
  std::vector<const Tensors*> requests;
  int64_t rows = 0;
  for (const Waiting& one : batch) {
    requests.push_back(&one.feeds);
    rows += one.feeds[0].shape[0];
  }
  const auto start = Clock::now();
  // One bad request must not spoil the others: alone, each gets its own error.
  const auto joined = run_feeds(join(requests));
  if (!joined) return false;
  const Tensors& outputs = *joined;
  const bool split = std::ranges::all_of(outputs, [&](const auto& output) {
    return !output.shape.empty() && output.shape[0] == rows;
  });
  std::vector<Tensors> parts(batch.size());
  int64_t first = 0;
  for (size_t at = 0; split && at < batch.size(); ++at) {
    const int64_t count = batch[at].feeds[0].shape[0];
    for (const auto& output : outputs) parts[at].push_back(rows_of(output, first, count));
    first += count;
  }
  if (!split || (!checked_ && !agrees(batch, parts))) {
    joins_ = false;
    if (on_notice_)
      on_notice_(cat(signature_.name,
                     ": joined requests have other answers than alone, so none are joined"));
    return false;
  }
  checked_ = true;
  if (on_run_) on_run_({batch.size(), seconds_since(start)});
  const double ran = seconds_since(start);
  for (size_t at = 0; at < batch.size(); ++at)
    batch[at].done({std::move(parts[at]), false, seconds_since(batch[at].since) - ran});
  return true;
}

bool ModelQueue::agrees(const Batch& batch, const std::vector<Tensors>& parts) {
  for (size_t at = 0; at < batch.size(); ++at) {
    const auto alone = run_feeds(batch[at].feeds);
    if (!alone || !std::ranges::equal(*alone, parts[at], agree)) return false;
  }
  return true;
}

Result<ModelQueue::Tensors> ModelQueue::run_feeds(const Tensors& feeds) {
  std::vector<runtime::TensorView> views;
  for (const auto& feed : feeds) views.push_back(view_of(feed));
  Tensors outputs;
  GS_TRY(run_(views, outputs));
  return outputs;
}

}  // namespace gossamer::serve
