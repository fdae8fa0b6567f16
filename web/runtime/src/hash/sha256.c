// SHA-256 (FIPS 180-4) over a stream of whole blocks: a page's own is for bytes that are all there, and only in secure
// pages. web/runtime/build/hash.mjs compiles this into sha256_wasm.ts.
#include "../../../../src/package/sha256_blocks.h"

// An instance is for one hash.
static Sha256Word state[8] = GS_SHA256_BEGINNING;

__attribute__((export_name("state"))) const Sha256Word* get_state(void) { return state; }

__attribute__((export_name("update"))) void update(const unsigned char* block, unsigned long count) {
  sha256_add_blocks(state, block, count);
}
