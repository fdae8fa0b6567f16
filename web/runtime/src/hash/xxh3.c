// XXH3 over a stream, for checking files as they arrive. 64-bit products are slow in JavaScript.
// web/runtime/build/hash.mjs compiles this with the xxHash library's header into xxh3_wasm.ts.
#include <xxhash.h>

static XXH3_state_t state;

__attribute__((export_name("reset"))) void reset(void) { XXH3_64bits_reset(&state); }
__attribute__((export_name("update"))) void update(const void* bytes, unsigned count) {
  XXH3_64bits_update(&state, bytes, count);
}
__attribute__((export_name("digest"))) unsigned long long digest(void) {
  return XXH3_64bits_digest(&state);
}
