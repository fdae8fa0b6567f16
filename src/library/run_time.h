// The run time in C (runtime/embedded) as the build compiled it: LLVM bitcode.
#pragma once

#include <cstddef>
#include <span>

namespace gossamer::library::run_time {

extern const std::span<const std::byte> native_model, native_threads;
extern const std::span<const std::byte> wasm_model, wasm_one_thread, wasm_program;

}  // namespace gossamer::library::run_time
