// The run time in C (runtime/embedded) as the build compiled it: LLVM bitcode, and its text.
#pragma once

#include <cstddef>
#include <span>

namespace gossamer::library::run_time {

extern const std::span<const std::byte> native_model, native_threads;
extern const std::span<const std::byte> wasm_model, wasm_one_thread, wasm_program;
extern const std::span<const std::byte> text_program_h, text_model_h, text_model_c,
    text_one_thread_c;

}  // namespace gossamer::library::run_time
