// A library of wasmtime's C API that fails as GOSSAMER_FAULT says, and is the one that it is linked
// with otherwise: who looks for a name here finds that one's where this file has none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fault(const char* name) {
  const char* asked = getenv("GOSSAMER_FAULT");
  return asked && strcmp(asked, name) == 0;
}

#define NEXT(name) dlsym(RTLD_NEXT, name)

struct bytes {
  size_t size;
  char* data;
};
typedef struct error error;

error* wasmtime_error_new(const char*);

void* wasm_engine_new_with_config(void* config) {
  return fault("no engine") ? NULL
                            : ((void* (*)(void*))NEXT("wasm_engine_new_with_config"))(config);
}

// Whose text says 50 says 35.
error* wasmtime_module_serialize(void* module, struct bytes* made) {
  error* failed =
      ((error * (*)(void*, struct bytes*)) NEXT("wasmtime_module_serialize"))(module, made);
  if (!failed && fault("old")) memcpy(made->data + 64, "\0\00235", 4);
  if (!failed && fault("unknown")) memset(made->data + 64, 7, 16);
  return failed;
}

void wasmtime_config_wasm_relaxed_simd_set(void* config, bool on) {
  ((void (*)(void*, bool))NEXT("wasmtime_config_wasm_relaxed_simd_set"))(config,
                                                                         on && !fault("plain"));
}

error* wasmtime_module_new(void* engine, const uint8_t* wasm, size_t size, void** made) {
  if (fault("refuses") && size > 300)
    return wasmtime_error_new("several\n\nCaused by:\n    0: the test\n    1: refuses it\n");
  return ((error * (*)(void*, const uint8_t*, size_t, void**)) NEXT("wasmtime_module_new"))(
      engine, wasm, size, made);
}

void* wasmtime_store_new(void* engine, void* data, void (*end)(void*)) {
  return fault("no store") ? NULL
                           : ((void* (*)(void*, void*, void (*)(void*)))NEXT("wasmtime_store_new"))(
                                 engine, data, end);
}

// Once, where there is a file of that name.
error* wasmtime_func_call_unchecked(void* context, const void* function, void* values, size_t count,
                                    void** trap) {
  static error* (*next)(void*, const void*, void*, size_t, void**);
  if (!next) next = NEXT("wasmtime_func_call_unchecked");
  if (fault("hangs") && unlink(getenv("GOSSAMER_HANGS")) == 0)
    for (;;) sleep(1);
  return next(context, function, values, count, trap);
}

error* wasmtime_sharedmemory_grow(const void* memory, uint64_t pages, uint64_t* before) {
  if (fault("no memory")) return wasmtime_error_new("the test has none");
  return ((error * (*)(const void*, uint64_t, uint64_t*)) NEXT("wasmtime_sharedmemory_grow"))(
      memory, pages, before);
}
