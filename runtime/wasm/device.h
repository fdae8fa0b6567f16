// Packages for wasm as they are, in an engine without JavaScript: wasmtime.
#pragma once

#include "runtime/device.h"

namespace gossamer::runtime {

// `threads`: 0 takes one a core. The caller's thread is one of them. Errors: no such library, an
// older one, no addresses for a memory; they say what to install.
Result<std::unique_ptr<Device>> make_wasm_device(int threads = 0);

// What makes such devices here: "wasmtime 50"; empty: nothing does.
std::string wasm_engine();

}  // namespace gossamer::runtime
