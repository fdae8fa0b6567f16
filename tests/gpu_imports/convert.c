/* Elements as runtime/embedded/gpu.c converts them, against the compiler's own 16-bit floats. */
#include <stdio.h>

#include "runtime/embedded/gpu.c"

const int64_t gossamer_program[GS_HEADER_WORDS];
const char gossamer_texts[1];
gs_kernel* const gossamer_kernels[1];
void gs_share(struct gs_pool* pool, gs_kernel* kernel, gs_word range, void* const* arguments) {
  (void)pool, (void)kernel, (void)range, (void)arguments;
}
size_t gs_size(int64_t kind) {
  static const unsigned char sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 2, 2};
  return sizes[kind];
}
int gpu_open(void) { return 0; }
int gpu_error(char* to, int room) { return (void)to, (void)room, 0; }
int gpu_buffer(int64_t bytes) { return (void)bytes, 0; }
void gpu_free(int buffer) { (void)buffer; }
int gpu_write(int b, int64_t o, const void* f, int n) {
  return (void)b, (void)o, (void)f, (void)n, 0;
}
int gpu_read(int b, int64_t o, void* t, int n) { return (void)b, (void)o, (void)t, (void)n, 0; }
int gpu_kernel(const char* w, int l, int b, int n, int s) {
  return (void)w, (void)l, (void)b, (void)n, (void)s, 0;
}
int gpu_launch(int k, const int* b, const int* s, int x, int y) {
  return (void)k, (void)b, (void)s, (void)x, (void)y, 0;
}

static int wrong;
static void expect(int right, const char* what, uint64_t of) {
  if (!right && ++wrong < 10) printf("%s of %llx\n", what, (unsigned long long)of);
}

static void halves(void) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = (uint16_t)bits;
    _Float16 value;
    memcpy(&value, &half, 2);
    const float mine = gs_from_half(half), right = (float)value;
    expect(memcmp(&mine, &right, 4) == 0 || mine != mine, "from half", bits);
    expect(gs_to_half(right) == half || right != right, "half and back", bits);
  }
}

/* Floats of all sizes, their ends most of all, where ties lie. */
static void rounding(void) {
  uint64_t seed = 7;
  for (int turn = 0; turn < 1 << 22; ++turn) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t bits = (uint32_t)(seed >> 32);
    if (turn % 2) bits = (bits & 0xfffff000) + (turn % 4 == 1 ? 0 : turn % 8 == 3 ? 1 : 0xffffffff);
    if (turn % 3) bits = (bits & 0x87ffffff) + 0x34000000; /* around what halves have */
    float value;
    memcpy(&value, &bits, 4);
    const _Float16 right = (_Float16)value;
    uint16_t half;
    memcpy(&half, &right, 2);
    const uint16_t mine = gs_to_half(value);
    expect(mine == half || (value != value && (mine & 0x7fff) > 0x7c00), "to half", bits);
    const uint16_t small = gs_to_bfloat(value);
    float back;
    const uint32_t wide = (uint32_t)small << 16;
    memcpy(&back, &wide, 4);
    const uint32_t low = bits & 0xffff, up = low > 0x8000 || (low == 0x8000 && (bits >> 16 & 1));
    expect(value != value ? back != back : small == (uint16_t)((bits >> 16) + up), "to bfloat",
           bits);
  }
}

static void integers(void) {
  const int64_t values[] = {0, -1, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1, INT64_MIN};
  const uint64_t large[] = {0, UINT32_MAX, (uint64_t)UINT32_MAX + 1};
  int32_t narrow[6];
  uint32_t plain[3];
  expect(gs_convert((void*)narrow, GS_I32, (const void*)values, GS_I64, 4) == -1, "i64 that fit",
         4);
  expect(gs_convert((void*)narrow, GS_I32, (const void*)values, GS_I64, 6) == 4, "i64 that do not",
         6);
  expect(narrow[1] == -1 && narrow[2] == INT32_MAX && narrow[3] == INT32_MIN, "i64 to i32", 0);
  expect(gs_convert((void*)plain, GS_U32, (const void*)large, GS_U64, 3) == 2, "u64", 3);
  const uint8_t truths[] = {0, 1, 7, 255};
  int32_t numbers[4];
  uint8_t back[4];
  gs_convert((void*)numbers, GS_I32, truths, GS_BOOL, 4);
  expect(numbers[0] == 0 && numbers[1] == 1 && numbers[2] == 1 && numbers[3] == 1, "bool", 4);
  gs_convert(back, GS_BOOL, (const void*)numbers, GS_I32, 4);
  expect(back[0] == 0 && back[1] == 1 && back[3] == 1, "bool and back", 4);
  const int8_t bytes[] = {-128, -1, 127};
  int8_t bytes_back[3];
  gs_convert((void*)numbers, GS_I32, (const void*)bytes, GS_I8, 3);
  expect(numbers[0] == -128 && numbers[1] == -1 && numbers[2] == 127, "i8", 3);
  gs_convert((void*)bytes_back, GS_I8, (const void*)numbers, GS_I32, 3);
  expect(memcmp(bytes, bytes_back, 3) == 0, "i8 and back", 3);
  const int16_t shorts[] = {-32768, 32767};
  gs_convert((void*)numbers, GS_I32, (const void*)shorts, GS_I16, 2);
  expect(numbers[0] == -32768 && numbers[1] == 32767, "i16", 2);
}

int main(void) {
  halves();
  rounding();
  integers();
  return wrong != 0;
}
