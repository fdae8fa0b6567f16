// The run time in C (runtime/embedded): as it is written, and as LLVM bitcode, where there is LLVM.
#pragma once

#include <cstddef>
#include <span>

namespace gossamer::library::run_time {

extern const std::span<const std::byte> text_program_h, text_model_h, text_model_c, text_host_c,
    text_one_thread_c;
extern const std::span<const std::byte> native_model, native_host, native_threads;
extern const std::span<const std::byte> wasm_model, wasm_host, wasm_gpu, wasm_one_thread,
    wasm_threads, wasm_program, wasm_component;
// Not bitcode: an object for wasm (serve/component); as text, the world that it is written for and
// what makes components for Node.js.
extern const std::span<const std::byte> wasm_service, wasm_service_wit, wasm_service_encode;

}  // namespace gossamer::library::run_time
