// The server between those who compile and the devices that have joined: it passes frames on, knows
// who is there, and answers for a device that has left.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"

namespace gossamer::rpc {

struct BrokerOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  uint16_t port = 9190;            // 0: one that is free
  std::string token;               // what every hello must say; never empty
  // Files that GET answers, by their path ("/", "/join.js"): the page that joins.
  std::map<std::string, std::string> files;
  // A line for the operator: who joined, who left.
  std::function<void(const std::string&)> on_notice;
};

// Runs until SIGINT or SIGTERM. `on_listen` is called with the port. Errors: an address that is
// none or in use.
Result<> run_broker(const BrokerOptions& options, const std::function<void(uint16_t)>& on_listen);

}  // namespace gossamer::rpc
