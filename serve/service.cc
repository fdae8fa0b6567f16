#include "serve/service.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "net/secret.h"

namespace gossamer::serve {
namespace {

Response failure(int status, std::string_view message) {
  return {status, "application/json", error_body(message), {}};
}

Response wrong_method(std::string allowed) {
  Response response = failure(405, cat("this address takes ", allowed));
  response.headers.emplace_back("Allow", std::move(allowed));
  return response;
}

// What is between the slashes, %XX decoded; nothing for an address that is none.
std::optional<std::vector<std::string>> segments_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  std::vector<std::string> segments;
  if (!target.starts_with('/')) return std::nullopt;
  for (size_t at = 0; at < target.size(); ++at) {
    if (target[at] == '/') {
      segments.emplace_back();
    } else if (target[at] != '%') {
      segments.back() += target[at];
    } else {
      uint8_t code = 0;
      const char* from = target.data() + at + 1;
      if (target.size() < at + 3 || std::from_chars(from, from + 2, code, 16).ptr != from + 2)
        return std::nullopt;
      segments.back() += static_cast<char>(code);
      at += 2;
    }
  }
  if (segments.back().empty()) segments.pop_back();
  return segments;
}

struct Route {
  std::string_view model;   // "" for an address of the server
  std::string_view action;  // "", "ready", "infer"
};

// v2/models/NAME[/versions/1][/ACTION]; nothing for other addresses.
std::optional<Route> model_route(const std::vector<std::string>& segments) {
  if (segments.size() < 3 || segments[0] != "v2" || segments[1] != "models") return std::nullopt;
  size_t next = 3;
  if (segments.size() >= 5 && segments[3] == "versions") {
    if (segments[4] != "1") return std::nullopt;
    next = 5;
  }
  if (segments.size() > next + 1) return std::nullopt;
  return Route{segments[2], segments.size() > next ? std::string_view(segments[next]) : ""};
}

}  // namespace

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

bool Service::authorized(const Request& request) const {
  constexpr std::string_view scheme = "Bearer ";
  return options_.token.empty() ||
         (request.authorization.starts_with(scheme) &&
          net::equal_secrets(options_.token,
                             std::string_view(request.authorization).substr(scheme.size())));
}

void Service::handle(Request request, std::function<void(Response)> done) {
  const auto segments = segments_of(request.target);
  if (!segments) return done(failure(400, "the address is malformed"));
  std::string path;
  for (const std::string& segment : *segments) path += cat("/", segment);
  const bool health = path == "/v2/health/live" || path == "/v2/health/ready";
  // Probes of an orchestrator carry no token.
  if (!health && !authorized(request)) {
    Response response = failure(401, "the header Authorization: Bearer TOKEN is missing or wrong");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return done(std::move(response));
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const auto route = model_route(*segments);
  if (!route) return done(reads ? get(path) : failure(404, "there is nothing at this address"));
  const Served* const served = find(route->model);
  if (!served) return done(failure(404, cat("there is no model \"", one_line(route->model), "\"")));
  if (route->action == "infer") {
    if (request.method != "POST") return done(wrong_method("POST"));
    return infer(*served, std::move(request), std::move(done));
  }
  if (!route->action.empty() && route->action != "ready")
    return done(failure(404, "there is nothing at this address"));
  if (!reads) return done(wrong_method("GET"));
  Response response;
  if (route->action.empty())
    response.body = model_metadata(served->signature);
  else
    response.body = cat("{\"name\":\"", served->signature.name, "\",\"ready\":true}");
  done(std::move(response));
}

Response Service::get(std::string_view path) const {
  Response response;
  if (path == "/v2/health/live") {
    response.body = "{\"live\":true}";
  } else if (path == "/v2/health/ready") {
    response.status = ready_ ? 200 : 400;
    response.body = ready_ ? "{\"ready\":true}" : "{\"ready\":false}";
  } else if (path == "/v2") {
    response.body = server_metadata(options_.version);
  } else if (path == "/metrics") {
    response.type = "text/plain; version=0.0.4";
    response.body = metrics_text();
  } else {
    return failure(404, "there is nothing at this address");
  }
  return response;
}

void Service::infer(const Served& served, Request request, std::function<void(Response)> done) {
  const auto start = ModelQueue::Clock::now();
  const auto answer = [this, start, name = served.signature.name,
                       done = std::move(done)](Response response) {
    const std::chrono::duration<double> seconds = ModelQueue::Clock::now() - start;
    metrics_.answered(name, response.status, seconds.count());
    done(std::move(response));
  };
  if (request.content_encoding && *request.content_encoding != "identity")
    return answer(failure(415, "the body is compressed: send it as it is"));
  std::optional<size_t> json_bytes;
  if (request.json_bytes) {
    const char* const end = request.json_bytes->data() + request.json_bytes->size();
    size_t count = 0;
    const auto [at, error] = std::from_chars(request.json_bytes->data(), end, count);
    if (at != end || error != std::errc())
      return answer(failure(400, "Inference-Header-Content-Length is no number of bytes"));
    json_bytes = count;
  }
  auto parsed = parse_infer(served.signature, request.body, json_bytes);
  if (!parsed) return answer(failure(400, parsed.error().to_string()));
  auto asked = std::make_shared<InferRequest>(std::move(*parsed));
  auto feeds = std::move(asked->feeds);
  const auto wait = std::chrono::duration<double>(options_.timeout);
  const bool taken = served.queue->submit(
      std::move(feeds), start + std::chrono::duration_cast<ModelQueue::Clock::duration>(wait),
      [this, &served, asked, answer](ModelQueue::Answer result) {
        metrics_.waited(served.signature.name, result.waited);
        if (!result.outputs)
          return answer(failure(result.expired ? 503 : 400, result.outputs.error().to_string()));
        InferResponse written = write_infer(served.signature, *asked, *result.outputs);
        Response response;
        response.body = std::move(written.body);
        if (written.json_bytes) {
          response.type = "application/octet-stream";
          response.headers.emplace_back("Inference-Header-Content-Length",
                                        cat(*written.json_bytes));
        }
        answer(std::move(response));
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
