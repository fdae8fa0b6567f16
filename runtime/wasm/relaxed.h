// What the engine has of relaxed SIMD.
#pragma once

#include "runtime/wasm/library.h"

namespace gossamer::runtime::wasm {

// Whether the instructions of it that kernels have are there and give what they should, as
// web/runtime/src/devices/wasm/features.ts asks: a * b + c, rounded once or twice, c - a * b, and
// lanes by masks of all bits or none.
bool has_relaxed_simd(const Library& api);
// Whether its dot product takes the second operand as unsigned bytes and rounds nothing off.
bool has_relaxed_dots(const Library& api);

}  // namespace gossamer::runtime::wasm
