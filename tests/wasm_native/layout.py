"""What wasmtime's own declarations, which its Python package has made of its headers, say of what runtime/wasm/api.h says."""

import ctypes

from wasmtime import _bindings as theirs
from wasmtime import _ffi as kinds

SIZES = {
    "EXTERN_OF": theirs.wasmtime_extern_t.of.offset,
    "EXTERN_SIZE": ctypes.sizeof(theirs.wasmtime_extern_t),
    "SHARED_MEMORY_SIZE": next(ctypes.sizeof(kind) for name, kind in theirs.wasmtime_extern_union_t._fields_ if name == "sharedmemory"),
    "INSTANCE_SIZE": ctypes.sizeof(theirs.wasmtime_instance_t),
    "FUNCTION_SIZE": ctypes.sizeof(theirs.wasmtime_func_t),
    "GLOBAL_SIZE": ctypes.sizeof(theirs.wasmtime_global_t),
    "VALUE_OF": theirs.wasmtime_val_t.of.offset,
    "VALUE_SIZE": ctypes.sizeof(theirs.wasmtime_val_t),
    "RAW_SIZE": ctypes.sizeof(theirs.wasmtime_val_raw_t),
    "BYTES_SIZE": ctypes.sizeof(theirs.wasm_byte_vec_t),
    "BYTES_DATA": theirs.wasm_byte_vec_t.data.offset,
    "TYPES_SIZE": ctypes.sizeof(theirs.wasm_valtype_vec_t),
    "TYPES_DATA": theirs.wasm_valtype_vec_t.data.offset,
    "KIND_FUNCTION": kinds.WASMTIME_EXTERN_FUNC.value,
    "KIND_GLOBAL": kinds.WASMTIME_EXTERN_GLOBAL.value,
    "KIND_SHARED_MEMORY": kinds.WASMTIME_EXTERN_SHAREDMEMORY.value,
    "KIND_I32": kinds.WASMTIME_I32.value,
    "KIND_F32": kinds.WASMTIME_F32.value,
}
for name, value in SIZES.items():
    print(f"-D{name}={value}")
