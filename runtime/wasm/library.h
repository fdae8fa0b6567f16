// wasmtime, found when it is needed, and one engine of it a process.
#pragma once

#include <span>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "runtime/wasm/api.h"

namespace gossamer::runtime::wasm {

// clang-format off: its lines differ from run to run
#define GS_WASMTIME_FUNCTIONS(F) \
  F(wasm_config_new, Config*()) \
  F(wasm_engine_new_with_config, Engine*(Config*)) \
  F(wasm_byte_vec_delete, void(ByteVector*)) \
  F(wasm_trap_message, void(const Trap*, ByteVector*)) \
  F(wasm_trap_delete, void(Trap*)) \
  F(wasm_functype_params, const ValueTypes*(const FunctionType*)) \
  F(wasm_functype_results, const ValueTypes*(const FunctionType*)) \
  F(wasm_functype_delete, void(FunctionType*)) \
  F(wasm_valtype_kind, uint8_t(const ValueType*)) \
  F(wasmtime_config_cranelift_opt_level_set, void(Config*, uint8_t)) \
  F(wasmtime_config_wasm_threads_set, void(Config*, bool)) \
  F(wasmtime_config_wasm_relaxed_simd_set, void(Config*, bool)) \
  F(wasmtime_error_message, void(const Error*, ByteVector*)) \
  F(wasmtime_error_delete, void(Error*)) \
  F(wasmtime_module_new, Error*(Engine*, const uint8_t*, size_t, Module**)) \
  F(wasmtime_module_serialize, Error*(Module*, ByteVector*)) \
  F(wasmtime_module_delete, void(Module*)) \
  F(wasmtime_store_new, Store*(Engine*, void*, void (*)(void*))) \
  F(wasmtime_store_context, Context*(Store*)) \
  F(wasmtime_store_delete, void(Store*)) \
  F(wasmtime_instance_new, Error*(Context*, const Module*, const Extern*, size_t, Handle*, Trap**)) \
  F(wasmtime_instance_export_get, bool(Context*, const Handle*, const char*, size_t, Extern*)) \
  F(wasmtime_extern_delete, void(Extern*)) \
  F(wasmtime_func_type, FunctionType*(const Context*, const Handle*)) \
  F(wasmtime_func_call_unchecked, Error*(Context*, const Handle*, RawValue*, size_t, Trap**)) \
  F(wasmtime_global_get, void(Context*, const Handle*, Value*)) \
  F(wasmtime_global_set, Error*(Context*, const Handle*, const Value*)) \
  F(wasmtime_sharedmemory_data, uint8_t*(const SharedMemory*)) \
  F(wasmtime_sharedmemory_data_size, size_t(const SharedMemory*)) \
  F(wasmtime_sharedmemory_grow, Error*(const SharedMemory*, uint64_t, uint64_t*)) \
  F(wasmtime_sharedmemory_delete, void(SharedMemory*))
// Null in releases that do not have it, where shared memories are on.
#define GS_NEWER_WASMTIME_FUNCTIONS(F) \
  F(wasmtime_config_shared_memory_set, void(Config*, bool))
// clang-format on

struct Library {
#define GS_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  GS_WASMTIME_FUNCTIONS(GS_MEMBER)
  GS_NEWER_WASMTIME_FUNCTIONS(GS_MEMBER)
#undef GS_MEMBER
  Engine* engine = nullptr;  // stays until the process ends, as the library does
  std::string about;         // "wasmtime 50"
  bool relaxed = false;      // relaxed SIMD is there and gives what it should
  bool exact_dots = false;   // and so does its dot product of unsigned and signed bytes

  // Ends them. Errors: what they say, one line; null says nothing.
  Result<> check(Error* error) const;
  Result<> check(Error* error, Trap* trap) const;
  Result<Module*> compile(std::span<const std::byte> module) const;
};

// Loaded once a process: what GOSSAMER_WASMTIME_LIBRARY names, else wasmtime by the name that it
// has. Errors say what to install: there is none, or an older one.
Result<const Library*> library();

}  // namespace gossamer::runtime::wasm
