// This process as a device: what web/rpc/src/device.ts is in a page.
#pragma once

#include <string>

#include "base/result.h"
#include "rpc/connection.h"

namespace gossamer::command {

struct Joining {
  rpc::Address address;
  std::string name, session;  // of two connections with one session the new one counts
  bool again = false;         // the server took it before, and may be away for a while
};

// The status of a process whose run took longer than the request allows: it joins anew in another.
constexpr int late_status = 75;

// Joins, and joins again where the connection is lost, until a signal ends the process. Errors:
// what the server refuses.
Result<> join_as_device(const Joining& joining);

}  // namespace gossamer::command
