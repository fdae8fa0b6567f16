// What runtime/wasm/api.h says of wasmtime's C API is what the library that is tested says, whose
// numbers layout.py prints: compiled, not run.
#include "runtime/wasm/api.h"

namespace ours = gossamer::runtime::wasm;

static_assert(offsetof(ours::Extern, of) == EXTERN_OF && sizeof(ours::Extern) >= EXTERN_SIZE);
static_assert(sizeof(ours::SharedMemory*) == SHARED_MEMORY_SIZE);
static_assert(sizeof(ours::Handle) >= INSTANCE_SIZE && sizeof(ours::Handle) >= FUNCTION_SIZE &&
              sizeof(ours::Handle) >= GLOBAL_SIZE);
static_assert(offsetof(ours::Value, i32) == VALUE_OF && sizeof(ours::Value) >= VALUE_SIZE);
static_assert(sizeof(ours::RawValue) == RAW_SIZE);
static_assert(sizeof(ours::ByteVector) == BYTES_SIZE &&
              offsetof(ours::ByteVector, data) == BYTES_DATA);
static_assert(sizeof(ours::ValueTypes) == TYPES_SIZE &&
              offsetof(ours::ValueTypes, data) == TYPES_DATA);
static_assert(ours::extern_function == KIND_FUNCTION && ours::extern_global == KIND_GLOBAL &&
              ours::extern_shared_memory == KIND_SHARED_MEMORY);
static_assert(ours::kind_i32 == KIND_I32 && ours::kind_f32 == KIND_F32);
