/* No threads: microcontrollers, wasm. */
#include "model.h"

struct gs_pool* gs_start(int threads) {
  (void)threads;
  return NULL;
}

void gs_stop(struct gs_pool* pool) { (void)pool; }

void gs_share(struct gs_pool* pool, gs_kernel* kernel, gs_word range, void* const* arguments) {
  (void)pool;
  kernel(0, range, arguments);
}
