// What a service answers before a model runs and after it: addresses, metadata, what is wrong with
// a request. Shared by the server (service.h) and by the wasm component (serve/component).
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "serve/protocol.h"

namespace gossamer::serve {

struct Request {
  std::string method, target, body;
  std::string authorization;                    // the header of this name
  std::optional<std::string> json_bytes;        // Inference-Header-Content-Length
  std::optional<std::string> content_encoding;  // Content-Encoding
};

struct Response {
  int status = 200;
  std::string type = "application/json", body;
  std::vector<std::pair<std::string, std::string>> headers;
};

Response failure(int status, std::string_view message);

struct FrontOptions {
  std::string version;
  std::string token;  // what "Authorization: Bearer TOKEN" must say; "" asks for nothing
  bool ready = true;  // what health/ready answers
};

struct ToInfer {
  size_t model = 0;
};
struct ToMetrics {};

// The answer, or what is to be done for it.
std::variant<Response, ToInfer, ToMetrics> route(const Request& request,
                                                 const FrontOptions& options,
                                                 const std::vector<const Signature*>& models);

// The two sides of a run. Errors: the answer, 400 or 415.
std::expected<InferRequest, Response> read_infer(const Signature& model, const Request& request);
Response answer_infer(const Signature& model, const InferRequest& asked,
                      const std::vector<runtime::HostTensor>& outputs);

}  // namespace gossamer::serve
