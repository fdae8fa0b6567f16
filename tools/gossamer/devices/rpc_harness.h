// What web_harness.h says of a browser here, of a device that has joined an RPC server.
#pragma once

#include "gossamer/devices/web_harness.h"

namespace gossamer::command {

// `address`: rpc://HOST:PORT/NAME?token=TOKEN. Outputs of models go to files below `outputs`.
Result<std::unique_ptr<Harness>> start_rpc_harness(const std::string& address,
                                                   const std::filesystem::path& outputs);

}  // namespace gossamer::command
