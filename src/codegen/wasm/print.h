// Writes a Function down as the bytes of a WebAssembly function body. It takes no decisions but
// which local is whose.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/wasm/function.h"

namespace gossamer::codegen::wasm {

using Bytes = std::vector<uint8_t>;

void append_unsigned(Bytes& bytes, uint64_t value);  // LEB128
void append_signed(Bytes& bytes, int64_t value);

// Declarations of locals and code, without the size in front. `params` i32 parameters.
Bytes print(const Function& function, uint32_t params);

}  // namespace gossamer::codegen::wasm
