#include "serve/service.h"

#include <algorithm>

#include "base/strings.h"

namespace gossamer::serve {
struct Service::Served {
  Signature signature;
  std::unique_ptr<runtime::Model> model;
  std::atomic<int64_t> memory = 0;  // bytes, as read last
  ModelQueue::Clock::time_point read_memory;
  std::unique_ptr<ModelQueue> queue;  // ends before what it uses
};

Result<> Service::add(const std::string& name, std::unique_ptr<runtime::Model> model) {
  const bool plain = !name.empty() && std::ranges::all_of(name, [](unsigned char letter) {
    return letter > ' ' && letter < 127 && letter != '/';
  });
  if (!plain)
    return fail_at(one_line(name), "is no name of a model",
                   "name it: NAME=FILE, without / or space");
  if (find(name)) return fail_at(name, "two models have this name", "name them apart: NAME=FILE");
  auto served = std::make_shared<Served>();
  served->signature = {name, "gossamer_cpu", model->inputs(), model->outputs()};
  runtime::Model* const runs = model.get();
  served->memory = model->report().memory_bytes;
  served->model = std::move(model);
  served->queue = std::make_unique<ModelQueue>(
      served->signature,
      [runs](std::span<const runtime::TensorView> feeds, ModelQueue::Tensors& outputs) {
        return runs->run(feeds, outputs);
      },
      options_.queue,
      [this, of = served.get()](const ModelQueue::RunReport& run) {
        metrics_.ran(of->signature.name, run.requests, run.seconds);
        // A report waits for its model, so it is this thread's to read, and now and then.
        const auto now = ModelQueue::Clock::now();
        if (now - of->read_memory < std::chrono::seconds(1)) return;
        of->read_memory = now;
        of->memory = of->model->report().memory_bytes;
      },
      options_.on_notice);
  models_.push_back(std::move(served));
  return {};
}

const Service::Served* Service::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      models_, [&](const auto& served) { return served->signature.name == name; });
  return found == models_.end() ? nullptr : found->get();
}

void Service::handle(Request request, std::function<void(Response)> done) {
  std::vector<const Signature*> signatures;
  signatures.reserve(models_.size());
  for (const auto& served : models_) signatures.push_back(&served->signature);
  auto to = route(request, {options_.version, options_.token, ready_}, signatures);
  if (auto* const response = std::get_if<Response>(&to)) return done(std::move(*response));
  if (const auto* const run = std::get_if<ToInfer>(&to))
    return infer(*models_[run->model], std::move(request), std::move(done));
  done({200, "text/plain; version=0.0.4", metrics_text(), {}});
}

void Service::infer(const Served& served, Request request, std::function<void(Response)> done) {
  const auto start = ModelQueue::Clock::now();
  const auto answer = [this, start, name = served.signature.name,
                       done = std::move(done)](Response response) {
    const std::chrono::duration<double> seconds = ModelQueue::Clock::now() - start;
    metrics_.answered(name, response.status, seconds.count());
    done(std::move(response));
  };
  auto read = read_infer(served.signature, request);
  if (!read) return answer(std::move(read.error()));
  auto asked = std::make_shared<InferRequest>(std::move(*read));
  auto feeds = std::move(asked->feeds);
  const auto wait = std::chrono::duration<double>(options_.timeout);
  const bool taken = served.queue->submit(
      std::move(feeds), start + std::chrono::duration_cast<ModelQueue::Clock::duration>(wait),
      [this, &served, asked, answer](ModelQueue::Answer result) {
        metrics_.waited(served.signature.name, result.waited);
        if (!result.outputs)
          return answer(failure(result.expired ? 503 : 400, result.outputs.error().to_string()));
        answer(answer_infer(served.signature, *asked, *result.outputs));
      });
  if (taken) return;
  Response full = failure(503, "too many requests wait for this model");
  full.headers.emplace_back("Retry-After", "1");
  answer(std::move(full));
}

std::string Service::metrics_text() const {
  std::vector<Metrics::Gauge> gauges;
  for (const auto& served : models_)
    gauges.push_back({"gossamer_waiting_requests", "Requests that wait for their model.",
                      served->signature.name, static_cast<double>(served->queue->waiting())});
  for (const auto& served : models_)
    gauges.push_back({"gossamer_model_memory_bytes", "Memory of a model, its weights included.",
                      served->signature.name, static_cast<double>(served->memory.load())});
  gauges.push_back(
      {"gossamer_connections", "Open connections.", "", static_cast<double>(connections_.load())});
  return metrics_.text(gauges);
}

}  // namespace gossamer::serve
