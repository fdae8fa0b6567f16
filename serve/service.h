// The service without its HTTP library: a request in, a response out.
//
//   GET  /v2/health/live, /v2/health/ready        200, or 400 while the server ends
//   GET  /v2, /v2/models/NAME[/versions/1]        metadata
//   GET  /v2/models/NAME[/versions/1]/ready       200
//   POST /v2/models/NAME[/versions/1]/infer       the Open Inference Protocol
//   GET  /metrics                                 Prometheus
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "serve/front.h"
#include "serve/metrics.h"
#include "serve/model_queue.h"

namespace gossamer::serve {

struct ServiceOptions {
  std::string version;
  std::string token;    // what "Authorization: Bearer TOKEN" must say; "" asks for nothing
  double timeout = 60;  // seconds that a request may wait for its model
  QueueOptions queue;
  std::function<void(const std::string&)> on_notice;
};

class Service {
 public:
  explicit Service(ServiceOptions options) : options_(std::move(options)) {}

  // Before the first request. Errors: a name that is there already or that no URL holds.
  Result<> add(const std::string& name, std::unique_ptr<runtime::Model> model);
  // `done` is called once, on this or another thread, also for requests that are wrong.
  void handle(Request request, std::function<void(Response)> done);
  // What health/ready answers.
  void set_ready(bool ready) { ready_ = ready; }
  // Of the server, for its metrics.
  void set_connections(size_t count) { connections_ = count; }

 private:
  struct Served;
  const Served* find(std::string_view name) const;
  void infer(const Served& served, Request request, std::function<void(Response)> done);
  std::string metrics_text() const;

  ServiceOptions options_;
  std::atomic<bool> ready_ = true;
  std::atomic<size_t> connections_ = 0;
  Metrics metrics_;
  std::vector<std::shared_ptr<Served>> models_;
};

}  // namespace gossamer::serve
