// The run time in C (runtime/embedded): as it is written, and as LLVM bitcode, where there is LLVM.
#pragma once

#include <cstddef>
#include <span>

namespace gossamer::library::run_time {

extern const std::span<const std::byte> text_program_h, text_model_h, text_model_c,
    text_one_thread_c;
extern const std::span<const std::byte> native_model, native_threads;
extern const std::span<const std::byte> wasm_model, wasm_one_thread, wasm_threads, wasm_program;

}  // namespace gossamer::library::run_time
