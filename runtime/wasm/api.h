// What is used of wasmtime's C API (wasm.h, wasmtime.h), in declarations of our own: none of its
// headers is needed to build. Handles of a store are larger or smaller from release to release, so
// here they have room for all of them; what lies in them is only handed on, but for their kind and
// where the union of an extern and of a value begins. tests/wasm_native compares both with the
// library that is tested.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gossamer::runtime::wasm {

struct Config;
struct Engine;
struct Module;
struct Store;
struct Context;
struct SharedMemory;
struct Error;
struct Trap;
struct FunctionType;
struct ValueType;

struct ByteVector {
  size_t size = 0;
  char* data = nullptr;
};

struct ValueTypes {
  size_t size = 0;
  ValueType** data = nullptr;
};

// An instance, a function or a global in a store.
struct Handle {
  alignas(8) std::byte words[64] = {};
};

enum ExternKind : uint8_t {
  extern_function,
  extern_global,
  extern_table,
  extern_memory,
  extern_shared_memory
};

struct Extern {
  ExternKind kind = extern_function;
  union {
    Handle handle;
    SharedMemory* shared_memory;
  } of = {};
};

enum ValueKind : uint8_t { kind_i32, kind_i64, kind_f32, kind_f64 };

struct Value {
  ValueKind kind = kind_i32;
  union {
    alignas(8) int32_t i32 = 0;
    std::byte room[64];
  };
};

// An argument or a result of a call whose types are known to be right.
union RawValue {
  int32_t i32;
  float f32;
  alignas(16) std::byte room[16];
};

constexpr uint8_t optimize_for_speed = 1;

}  // namespace gossamer::runtime::wasm
