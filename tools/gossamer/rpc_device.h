// This process as a device: what web/rpc/src/device.ts is in a page.
#pragma once

#include <string>

#include "base/result.h"
#include "rpc/connection.h"

namespace gossamer::command {

// Joins, and joins again where the connection is lost, until a signal ends the process. Errors:
// what the server refuses.
Result<> join_as_device(const rpc::Address& address, const std::string& name);

}  // namespace gossamer::command
