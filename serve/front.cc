#include "serve/front.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "net/secret.h"

namespace gossamer::serve {
namespace {

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

bool authorized(const Request& request, const std::string& token) {
  constexpr std::string_view scheme = "Bearer ";
  return token.empty() ||
         (request.authorization.starts_with(scheme) &&
          net::equal_secrets(token, std::string_view(request.authorization).substr(scheme.size())));
}

// Of the server, not of a model.
std::variant<Response, ToInfer, ToMetrics> get(std::string_view path, const FrontOptions& options) {
  Response response;
  if (path == "/v2/health/live") {
    response.body = "{\"live\":true}";
  } else if (path == "/v2/health/ready") {
    response.status = options.ready ? 200 : 400;
    response.body = options.ready ? "{\"ready\":true}" : "{\"ready\":false}";
  } else if (path == "/v2") {
    response.body = server_metadata(options.version);
  } else if (path == "/metrics") {
    return ToMetrics{};
  } else {
    return failure(404, "there is nothing at this address");
  }
  return response;
}

}  // namespace

Response failure(int status, std::string_view message) {
  return {status, "application/json", error_body(message), {}};
}

std::variant<Response, ToInfer, ToMetrics> route(const Request& request,
                                                 const FrontOptions& options,
                                                 const std::vector<const Signature*>& models) {
  const auto segments = segments_of(request.target);
  if (!segments) return failure(400, "the address is malformed");
  std::string path;
  for (const std::string& segment : *segments) path += cat("/", segment);
  const bool health = path == "/v2/health/live" || path == "/v2/health/ready";
  // Probes of an orchestrator carry no token.
  if (!health && !authorized(request, options.token)) {
    Response response = failure(401, "the header Authorization: Bearer TOKEN is missing or wrong");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const auto to = model_route(*segments);
  if (!to) {
    if (reads) return get(path, options);
    return failure(404, "there is nothing at this address");
  }
  const auto found = std::ranges::find(models, to->model, &Signature::name);
  if (found == models.end())
    return failure(404, cat("there is no model \"", one_line(to->model), "\""));
  if (to->action == "infer") {
    if (request.method != "POST") return wrong_method("POST");
    return ToInfer{static_cast<size_t>(found - models.begin())};
  }
  if (!to->action.empty() && to->action != "ready")
    return failure(404, "there is nothing at this address");
  if (!reads) return wrong_method("GET");
  Response response;
  if (to->action.empty())
    response.body = model_metadata(**found);
  else
    response.body = cat("{\"name\":\"", (*found)->name, "\",\"ready\":true}");
  return response;
}

std::expected<InferRequest, Response> read_infer(const Signature& model, const Request& request) {
  const auto wrong = [](int status, std::string_view message) {
    return std::unexpected(failure(status, message));
  };
  if (request.content_encoding && *request.content_encoding != "identity")
    return wrong(415, "the body is compressed: send it as it is");
  std::optional<size_t> json_bytes;
  if (request.json_bytes) {
    const char* const end = request.json_bytes->data() + request.json_bytes->size();
    size_t count = 0;
    const auto [at, error] = std::from_chars(request.json_bytes->data(), end, count);
    if (at != end || error != std::errc())
      return wrong(400, "Inference-Header-Content-Length is no number of bytes");
    json_bytes = count;
  }
  auto parsed = parse_infer(model, request.body, json_bytes);
  if (!parsed) return wrong(400, parsed.error().to_string());
  return *std::move(parsed);
}

Response answer_infer(const Signature& model, const InferRequest& asked,
                      const std::vector<runtime::HostTensor>& outputs) {
  InferResponse written = write_infer(model, asked, outputs);
  Response response;
  response.body = std::move(written.body);
  if (written.json_bytes) {
    response.type = "application/octet-stream";
    response.headers.emplace_back("Inference-Header-Content-Length", cat(*written.json_bytes));
  }
  return response;
}

}  // namespace gossamer::serve
