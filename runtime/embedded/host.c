/* Launches on the CPU, slots in the program's own memory: nothing is ever converted. */
#include <string.h>

#include "model.h"

int gs_open_device(void) { return GS_ANY_DEVICE; }

void gs_device_error(char* to, size_t room) {
  if (room > 0) to[0] = 0;
}

int gs_reserve_on_device(struct gs_slot* slot, int64_t bytes) {
  (void)slot, (void)bytes;
  return 0;
}

void gs_release_on_device(struct gs_slot* slot) { (void)slot; }

static unsigned char* gs_at(struct gs_elements elements) {
  return elements.memory + gs_size(elements.kind) * (size_t)elements.first;
}

int64_t gs_put(struct gs_elements to, const unsigned char* from, int64_t kind, int64_t count) {
  if (count > 0) memcpy(gs_at(to), from, gs_size(kind) * (size_t)count);
  return -1;
}

int64_t gs_get(struct gs_elements from, unsigned char* to, int64_t kind, int64_t count) {
  if (count > 0) memcpy(to, gs_at(from), gs_size(kind) * (size_t)count);
  return -1;
}

int64_t gs_move(struct gs_elements from, struct gs_elements to, int64_t count) {
  return gs_put(to, gs_at(from), from.kind, count);
}

const unsigned char* gs_view(struct gs_elements from, int64_t kind, int64_t count) {
  (void)kind, (void)count;
  return gs_at(from);
}

int gs_prepare(int64_t kernel) {
  (void)kernel;
  return 1;
}

int gs_call(struct gs_pool* pool, int64_t kernel, gs_word range, void* const* arguments) {
  gs_share(pool, gossamer_kernels[kernel], range, arguments);
  return 1;
}
