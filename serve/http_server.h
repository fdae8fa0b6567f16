// HTTP/1.1 in front of a service: connections, limits, a clean end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "serve/service.h"

namespace gossamer::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  uint16_t port = 8000;            // 0: one that is free
  uint64_t body_bytes = uint64_t{64} << 20;
  double read_seconds = 30;  // for a request to arrive whole, and for the next one to begin
  double end_seconds = 10;   // for what is under way when the server ends
  size_t connections = 4096;
  int threads = 2;  // that read and write bodies
};

// Serves until SIGINT or SIGTERM: no new connections then, requests under way are answered. A
// second signal ends at once. True if all were answered; else models still run, and the process
// should end without waiting for them. `on_listen` is called with the address. Errors: an address
// that is none or in use.
Result<bool> serve_http(Service& service, const HttpOptions& options,
                        const std::function<void(const std::string& url)>& on_listen);

}  // namespace gossamer::serve
