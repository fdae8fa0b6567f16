/* Launches on a GPU that the engine gives, and on the CPU beside it: the imports of
   docs/specs/gpu_imports.md. One model a program. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define GPU(name) __attribute__((import_module("gossamer_gpu"), import_name(name)))

GPU("open") extern int gpu_open(void);
GPU("error") extern int gpu_error(char* to, int room);
GPU("buffer") extern int gpu_buffer(int64_t bytes);
GPU("free") extern void gpu_free(int buffer);
GPU("write") extern int gpu_write(int buffer, int64_t offset, const void* from, int bytes);
GPU("read") extern int gpu_read(int buffer, int64_t offset, void* to, int bytes);
GPU("kernel")
extern int gpu_kernel(const char* wgsl, int length, int buffers, int writes, int scalars);
GPU("launch")
extern int gpu_launch(int kernel, const int* buffers, const int* scalars, int x, int y);

enum {
  GS_MOST_IN_X = 65535,    /* workgroups of a dimension */
  GS_PIECE = 1 << 20,      /* elements that are converted at once */
  GS_MOST_MOVED = 64 << 20 /* bytes that are */
};

static int* gs_kernels_there; /* the engine's numbers; 0: not made yet */
static unsigned char* gs_staging;
static size_t gs_staging_bytes;
static const char* gs_problem; /* found here, not by the engine */

static int gs_problem_is(const char* text) {
  gs_problem = text;
  return 0;
}

void gs_device_error(char* to, size_t room) {
  size_t at = 0;
  if (gs_problem) {
    for (; gs_problem[at] && at + 1 < room; ++at) to[at] = gs_problem[at];
  } else {
    const int length = gpu_error(to, (int)(room - 1));
    at = length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
  }
  to[at] = 0;
}

int gs_open_device(void) {
  const int found = gpu_open();
  return found <= 0 ? GS_NO_DEVICE : found == 1 ? GS_ANY_DEVICE : GS_FAST_DEVICE;
}

/* Room for so many bytes, which stays until the next call. */
static unsigned char* gs_stage(size_t bytes) {
  if (bytes <= gs_staging_bytes) return gs_staging;
  const size_t room = bytes + bytes / 2;
  gs_staging = malloc(room);
  gs_staging_bytes = gs_staging ? room : 0;
  if (!gs_staging) gs_problem_is("out of memory");
  return gs_staging;
}

static const int64_t* gs_shader(int64_t kernel) {
  return gossamer_program + gossamer_program[GS_SHADERS_AT] + kernel * GS_SHADER_WORDS;
}

static int gs_handle(const unsigned char* memory) { return (int)(uintptr_t)memory; }

void gs_release_on_device(struct gs_slot* slot) {
  if (slot->memory) gpu_free(gs_handle(slot->memory));
  slot->memory = NULL;
  slot->capacity = 0;
}

int gs_reserve_on_device(struct gs_slot* slot, int64_t bytes) {
  gs_release_on_device(slot);
  gs_problem = NULL;
  /* Whole vectors, and never nothing. */
  const int made = gpu_buffer(bytes > 0 ? (bytes + 15) / 16 * 16 : 16);
  if (made <= 0) return 0;
  slot->memory = (unsigned char*)(uintptr_t)made;
  slot->capacity = bytes;
  return 1;
}

/* Elements */

static float gs_from_half(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023, whole;
  float value;
  if (exponent == 31) {
    whole = sign | 0x7f800000 | fraction << 13;
  } else if (exponent) {
    whole = sign | (exponent + 112) << 23 | fraction << 13;
  } else {
    value = (float)fraction * 0x1p-24f;
    return sign ? -value : value;
  }
  memcpy(&value, &whole, 4);
  return value;
}

/* To the nearest, halves to the even one. */
static uint16_t gs_to_half(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7e00;
  if (bits >= 0x477ff000) return sign | 0x7c00;
  if (bits < 0x38800000) { /* below the normal ones: a float's own addition rounds */
    float size, shifted;
    memcpy(&size, &bits, 4);
    shifted = size + 0.5f;
    memcpy(&bits, &shifted, 4);
    return sign | (uint16_t)(bits - 0x3f000000);
  }
  bits += 0xfff + (bits >> 13 & 1);
  return sign | (uint16_t)((bits >> 13) - (112 << 10));
}

static uint16_t gs_to_bfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 64);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int gs_is_float(int64_t kind) {
  return kind == GS_F32 || kind == GS_F64 || kind == GS_F16 || kind == GS_BF16;
}

static double gs_real(const unsigned char* from, int64_t kind) {
  uint16_t bits;
  uint32_t whole;
  float value;
  double wide;
  switch (kind) {
    case GS_F64:
      memcpy(&wide, from, 8);
      return wide;
    case GS_F32:
      memcpy(&value, from, 4);
      return value;
    case GS_F16:
      memcpy(&bits, from, 2);
      return gs_from_half(bits);
    default:
      memcpy(&bits, from, 2);
      whole = (uint32_t)bits << 16;
      memcpy(&value, &whole, 4);
      return value;
  }
}

static void gs_store_real(unsigned char* to, int64_t kind, double real) {
  const float value = (float)real;
  uint16_t bits;
  switch (kind) {
    case GS_F64:
      memcpy(to, &real, 8);
      return;
    case GS_F32:
      memcpy(to, &value, 4);
      return;
    default:
      bits = kind == GS_F16 ? gs_to_half(value) : gs_to_bfloat(value);
      memcpy(to, &bits, 2);
  }
}

/* An unsigned 64-bit one as its bits. */
static int64_t gs_whole(const unsigned char* from, int64_t kind) {
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  switch (kind) {
    case GS_I8:
      return (int8_t)*from;
    case GS_U8:
      return *from;
    case GS_BOOL:
      return *from != 0;
    case GS_I16:
      return (int16_t)(from[0] | from[1] << 8);
    case GS_U16:
      return from[0] | from[1] << 8;
    case GS_I32:
      memcpy(&i32, from, 4);
      return i32;
    case GS_U32:
      memcpy(&u32, from, 4);
      return (int64_t)u32;
    default:
      memcpy(&i64, from, 8);
      return i64;
  }
}

/* wasm's bytes are in this order. */
static void gs_store_whole(unsigned char* to, int64_t kind, int64_t value) {
  if (kind == GS_BOOL) value = value != 0;
  memcpy(to, &value, gs_size(kind));
}

/* -1, or the first element of 64 bits that 32 do not hold. */
static int64_t gs_convert(unsigned char* to, int64_t stored, const unsigned char* from,
                          int64_t kind, int64_t count) {
  const size_t step = gs_size(stored), size = gs_size(kind);
  if (stored == kind) {
    memcpy(to, from, size * (size_t)count);
    return -1;
  }
  const int real = gs_is_float(kind), narrows = size == 8 && step < 8 && !real;
  for (int64_t at = 0; at < count; ++at, to += step, from += size) {
    if (real) {
      gs_store_real(to, stored, gs_real(from, kind));
      continue;
    }
    const int64_t value = gs_whole(from, kind);
    gs_store_whole(to, stored, value);
    if (narrows && gs_whole(to, stored) != value) return at;
  }
  return -1;
}

/* Transfers are of whole words of 32 bits: slots have room for one more. */
static int gs_transfer(struct gs_elements there, unsigned char* memory, int64_t count, int reads) {
  const int64_t size = (int64_t)gs_size(there.kind);
  const int64_t bytes = (count * size + 3) / 4 * 4;
  gs_problem = NULL;
  for (int64_t at = 0; at < bytes; at += GS_MOST_MOVED) {
    const int part = bytes - at < GS_MOST_MOVED ? (int)(bytes - at) : GS_MOST_MOVED;
    const int64_t offset = there.first * size + at;
    if (!(reads ? gpu_read(gs_handle(there.memory), offset, memory + at, part)
                : gpu_write(gs_handle(there.memory), offset, memory + at, part)))
      return 0;
  }
  return 1;
}

static int64_t gs_least(int64_t a, int64_t b) { return a < b ? a : b; }

static unsigned char* gs_here(struct gs_elements elements) {
  return elements.memory + gs_size(elements.kind) * (size_t)elements.first;
}

int64_t gs_put(struct gs_elements to, const unsigned char* from, int64_t kind, int64_t count) {
  const size_t size = gs_size(kind);
  if (to.place != GS_SLOT_GPU) return gs_convert(gs_here(to), to.kind, from, kind, count);
  /* As it lies, where that is whole words. */
  if (to.kind == kind && size * (size_t)count % 4 == 0)
    return gs_transfer(to, (unsigned char*)(uintptr_t)from, count, 0) ? -1 : GS_FAILED;
  const int64_t first = to.first;
  for (int64_t at = 0; at < count; at += GS_PIECE) {
    const int64_t part = gs_least(GS_PIECE, count - at);
    unsigned char* const staged = gs_stage((size_t)part * gs_size(to.kind) + 4);
    if (!staged) return GS_FAILED;
    const int64_t wrong = gs_convert(staged, to.kind, from + (size_t)at * size, kind, part);
    if (wrong >= 0) return at + wrong;
    to.first = first + at;
    if (!gs_transfer(to, staged, part, 0)) return GS_FAILED;
  }
  return -1;
}

int64_t gs_get(struct gs_elements from, unsigned char* to, int64_t kind, int64_t count) {
  const size_t size = gs_size(kind);
  if (from.place != GS_SLOT_GPU) return gs_convert(to, kind, gs_here(from), from.kind, count);
  if (from.kind == kind && size * (size_t)count % 4 == 0)
    return gs_transfer(from, to, count, 1) ? -1 : GS_FAILED;
  const int64_t first = from.first;
  for (int64_t at = 0; at < count; at += GS_PIECE) {
    const int64_t part = gs_least(GS_PIECE, count - at);
    unsigned char* const staged = gs_stage((size_t)part * gs_size(from.kind) + 4);
    if (!staged) return GS_FAILED;
    from.first = first + at;
    if (!gs_transfer(from, staged, part, 1)) return GS_FAILED;
    gs_convert(to + (size_t)at * size, kind, staged, from.kind, part);
  }
  return -1;
}

/* One of the two lies here. */
int64_t gs_move(struct gs_elements from, struct gs_elements to, int64_t count) {
  return to.place == GS_SLOT_GPU ? gs_put(to, gs_here(from), from.kind, count)
                                 : gs_get(from, gs_here(to), to.kind, count);
}

const unsigned char* gs_view(struct gs_elements from, int64_t kind, int64_t count) {
  static unsigned char* view;
  static size_t room;
  if (from.place != GS_SLOT_GPU && from.kind == kind) return gs_here(from);
  const size_t bytes = (size_t)count * gs_size(kind);
  if (bytes > room || !view) {
    room = bytes + bytes / 2 + 4;
    view = malloc(room);
    if (!view) room = 0, gs_problem_is("out of memory");
  }
  return view && gs_get(from, view, kind, count) == -1 ? view : NULL;
}

/* Kernels */

int gs_prepare(int64_t kernel) {
  const int64_t* const row = gs_shader(kernel);
  if (row[0] < 0) return 1;
  gs_problem = NULL;
  if (!gs_kernels_there) {
    const size_t bytes = (size_t)gossamer_program[GS_SHADERS] * sizeof(int);
    gs_kernels_there = malloc(bytes + 1);
    if (!gs_kernels_there) return gs_problem_is("out of memory");
    memset(gs_kernels_there, 0, bytes);
  }
  if (gs_kernels_there[kernel]) return 1;
  gs_kernels_there[kernel] =
      gpu_kernel(gossamer_texts + row[0], (int)row[1], (int)row[2], (int)row[3], (int)row[4]);
  return gs_kernels_there[kernel] > 0;
}

int gs_call(struct gs_pool* pool, int64_t kernel, gs_word range, void* const* arguments) {
  const int64_t* const row = gs_shader(kernel);
  if (row[0] < 0) {
    gs_share(pool, gossamer_kernels[row[1]], range, arguments);
    return 1;
  }
  gs_problem = NULL;
  const int x = range < GS_MOST_IN_X ? (int)range : GS_MOST_IN_X;
  const int y = (int)((range - 1) / x + 1);
  /* Pointers are of 32 bits, as numbers are: both lie as the imports want them. */
  const int* const words = (const int*)(const void*)arguments;
  return gpu_launch(gs_kernels_there[kernel], words, words + row[2], x, y) != 0;
}
