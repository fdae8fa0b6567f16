#include "c_abi/every_type.h"

#include <stdio.h>
#include <string.h>

/* Six elements of each type as they lie in memory, and the numbers that they are, by the types'
   definitions (https://onnx.ai/onnx/technical): nothing here comes from the run time. */
#define BYTES(...) \
  (const unsigned char[]) { __VA_ARGS__ }

static const float f32[6] = {0, 1, -2, 0.5f, 3, 100};
static const double f64[6] = {0, 1, -2, 0.5, 3, 100};
static const uint16_t f16[6] = {0, 0x3c00, 0xc000, 0x3800, 0x4200, 0x5640};
static const uint16_t bf16[6] = {0, 0x3f80, 0xc000, 0x3f00, 0x4040, 0x42c8};
static const int8_t i8[6] = {0, 1, -2, 127, -128, 100};
static const int16_t i16[6] = {0, 1, -2, 32767, -32768, 100};
static const int32_t i32[6] = {0, 1, -2, 65536, -65536, 100};
static const int64_t i64[6] = {0, 1, -2, 65536, -65536, 100};
static const uint8_t u8[6] = {0, 1, 2, 127, 255, 100};
static const uint16_t u16[6] = {0, 1, 2, 32767, 65535, 100};
static const uint32_t u32[6] = {0, 1, 2, 65536, 131072, 100};
static const uint64_t u64[6] = {0, 1, 2, 65536, 131072, 100};
static const gossamer_string strings[6] = {{"0.0", 3}, {"1.0", 3}, {"-2.0", 4},
                                           {"0.5", 3}, {"3.0", 3}, {"100.0", 5}};

typedef struct example {
  gossamer_type type;
  size_t size; /* of an element */
  const void* elements;
  float numbers[6];
} example;

static const example examples[] = {
    {GOSSAMER_F32, 4, f32, {0, 1, -2, 0.5f, 3, 100}},
    {GOSSAMER_F16, 2, f16, {0, 1, -2, 0.5f, 3, 100}},
    {GOSSAMER_BF16, 2, bf16, {0, 1, -2, 0.5f, 3, 100}},
    {GOSSAMER_F64, 8, f64, {0, 1, -2, 0.5f, 3, 100}},
    {GOSSAMER_I8, 1, i8, {0, 1, -2, 127, -128, 100}},
    {GOSSAMER_I16, 2, i16, {0, 1, -2, 32767, -32768, 100}},
    {GOSSAMER_I32, 4, i32, {0, 1, -2, 65536, -65536, 100}},
    {GOSSAMER_I64, 8, i64, {0, 1, -2, 65536, -65536, 100}},
    {GOSSAMER_U8, 1, u8, {0, 1, 2, 127, 255, 100}},
    {GOSSAMER_U16, 2, u16, {0, 1, 2, 32767, 65535, 100}},
    {GOSSAMER_U32, 4, u32, {0, 1, 2, 65536, 131072, 100}},
    {GOSSAMER_U64, 8, u64, {0, 1, 2, 65536, 131072, 100}},
    {GOSSAMER_BOOLEAN, 1, BYTES(0, 1, 1, 0, 0, 1), {0, 1, 1, 0, 0, 1}},
    {GOSSAMER_F8E4M3FN, 1, BYTES(0, 0x38, 0xc0, 0x30, 0x44, 0x7e), {0, 1, -2, 0.5f, 3, 448}},
    {GOSSAMER_F8E4M3FNUZ, 1, BYTES(0, 0x40, 0xc8, 0x38, 0x4c, 0x7f), {0, 1, -2, 0.5f, 3, 240}},
    {GOSSAMER_F8E5M2, 1, BYTES(0, 0x3c, 0xc0, 0x38, 0x42, 0x7b), {0, 1, -2, 0.5f, 3, 57344}},
    {GOSSAMER_F8E5M2FNUZ, 1, BYTES(0, 0x40, 0xc4, 0x3c, 0x46, 0x7f), {0, 1, -2, 0.5f, 3, 57344}},
    {GOSSAMER_F8E8M0, 1, BYTES(125, 127, 128, 126, 129, 137), {0.25f, 1, 2, 0.5f, 4, 1024}},
    {GOSSAMER_F4E2M1, 1, BYTES(0, 2, 12, 1, 5, 7), {0, 1, -2, 0.5f, 3, 6}},
    {GOSSAMER_F6E2M3, 1, BYTES(0, 0x08, 0x30, 0x04, 0x14, 0x1f), {0, 1, -2, 0.5f, 3, 7.5f}},
    {GOSSAMER_F6E3M2, 1, BYTES(0, 0x0c, 0x30, 0x08, 0x12, 0x1f), {0, 1, -2, 0.5f, 3, 28}},
    {GOSSAMER_I4, 1, BYTES(0, 1, 0xfe, 7, 0xf8, 3), {0, 1, -2, 7, -8, 3}},
    {GOSSAMER_U4, 1, BYTES(0, 1, 2, 7, 15, 3), {0, 1, 2, 7, 15, 3}},
    {GOSSAMER_I2, 1, BYTES(0, 1, 0xfe, 0xff, 1, 0), {0, 1, -2, -1, 1, 0}},
    {GOSSAMER_U2, 1, BYTES(0, 1, 2, 3, 2, 1), {0, 1, 2, 3, 2, 1}},
    {GOSSAMER_STRING, sizeof(gossamer_string), strings, {0, 1, -2, 0.5f, 3, 100}},
};

#define ONE(NAME, name, text, kind, bits, onnx) +1
_Static_assert(sizeof examples / sizeof examples[0] == 0 GOSSAMER_ELEMENT_TYPES(ONE),
               "an example of every type");
_Static_assert(sizeof(gossamer_type) == 4, "as in C++");

static const int64_t shape[2] = {2, 3};
static char said[400];

static const char* fail(const char* what) {
  snprintf(said, sizeof said, "%s; gossamer_error: %s", what, gossamer_error());
  return said;
}

#define EXPECT(condition)                      \
  do {                                         \
    if (!(condition)) return fail(#condition); \
  } while (0)

static int same_elements(const example* given, const void* found, size_t at) {
  const gossamer_string *want = (const gossamer_string*)given->elements + at, *have = found;
  if (given->type != GOSSAMER_STRING)
    return memcmp((const char*)given->elements + at * given->size, found, given->size) == 0;
  return want->bytes == have->bytes && memcmp(want->data, have->data, want->bytes) == 0;
}

static const char* check_model(gossamer_model* model, const example* given) {
  const gossamer_tensor x = {given->type, 2, shape, given->elements, 6 * given->size};
  EXPECT(gossamer_input_count(model) == 1 && gossamer_output_count(model) == 3);
  EXPECT(strcmp(gossamer_input_name(model, 0), "x") == 0);
  EXPECT(strcmp(gossamer_output_name(model, 2), "again") == 0);
  const gossamer_tensor port = gossamer_input_port(model, 0);
  EXPECT(port.type == given->type && port.rank == 2 && port.shape[0] == 2 && port.shape[1] == 3);
  EXPECT(gossamer_output_port(model, 0).type == given->type);
  EXPECT(gossamer_output_port(model, 1).type == GOSSAMER_F32);

  gossamer_tensor made[3];
  EXPECT(gossamer_run(model, &x, 1, made, 3) == 0);
  const gossamer_tensor *twice = &made[0], *numbers = &made[1], *again = &made[2];
  EXPECT(twice->type == given->type && twice->rank == 2 && twice->shape[0] == 4);
  EXPECT(twice->bytes == 12 * given->size && again->bytes == 6 * given->size);
  EXPECT(numbers->type == GOSSAMER_F32 && numbers->bytes == 6 * sizeof(float));
  EXPECT(again->type == given->type);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT(((const float*)numbers->data)[i] == given->numbers[i]);
    EXPECT(same_elements(given, (const char*)twice->data + i * given->size, i));
    EXPECT(same_elements(given, (const char*)twice->data + (i + 6) * given->size, i));
    EXPECT(same_elements(given, (const char*)again->data + i * given->size, i));
  }
  return NULL;
}

const char* check_type(const char* folder, gossamer_type type) {
  const example* given = NULL;
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; ++i)
    if (examples[i].type == type) given = &examples[i];
  EXPECT(given != NULL);
  gossamer_model* model = gossamer_load(folder, 1);
  EXPECT(model != NULL);
  const char* wrong = check_model(model, given);
  gossamer_free(model);
  return wrong;
}

/* Whether a run is refused with this in its error, and leaves the outputs alone. */
static int refuses(gossamer_model* model, const gossamer_tensor* inputs, size_t count,
                   const char* because) {
  gossamer_tensor made[3];
  memset(made, 0x5a, sizeof made);
  if (gossamer_run(model, inputs, count, made, 3) == 0) return 0;
  for (size_t i = 0; i < sizeof made; ++i)
    if (((const unsigned char*)made)[i] != 0x5a) return 0;
  return strstr(gossamer_error(), because) != NULL;
}

static const char* check_bad_tensors(gossamer_model* model) {
  const gossamer_tensor good = {GOSSAMER_F32, 2, shape, f32, sizeof f32};
  gossamer_tensor bad[2] = {good, good}, made[3];
  EXPECT(refuses(model, bad, 0, "1 inputs, 0 are given"));
  EXPECT(refuses(model, bad, 2, "1 inputs, 2 are given"));
  EXPECT(refuses(model, NULL, 1, "inputs are NULL"));
  EXPECT(gossamer_run(model, &good, 1, NULL, 3) != 0);
  EXPECT(gossamer_run(model, &good, 1, made, 2) != 0);
  EXPECT(strstr(gossamer_error(), "3 outputs, room is for 2"));
  EXPECT(gossamer_run(model, &good, 1, made, SIZE_MAX) != 0);

  bad[0].type = GOSSAMER_I32;
  EXPECT(refuses(model, bad, 1, "\"x\": is f32, the tensor given is i32"));
  bad[0].type = GOSSAMER_STRING;
  EXPECT(refuses(model, bad, 1, "the tensor given is string"));
  bad[0].type = (gossamer_type)(GOSSAMER_STRING + 1);
  EXPECT(refuses(model, bad, 1, "unknown element type"));
  bad[0].type = (gossamer_type)-1;
  EXPECT(refuses(model, bad, 1, "unknown element type"));

  bad[0] = good;
  bad[0].rank = 3;
  EXPECT(refuses(model, bad, 1, "has rank 2, the tensor given has 3"));
  bad[0].rank = SIZE_MAX;
  EXPECT(refuses(model, bad, 1, "has rank 2"));
  bad[0].rank = 0;
  EXPECT(refuses(model, bad, 1, "has rank 2"));
  bad[0] = good;
  bad[0].shape = NULL;
  EXPECT(refuses(model, bad, 1, "shape"));
  const int64_t wrong_shapes[][2] = {
      {3, 2}, {-2, -3}, {INT64_MAX, INT64_MAX}, {INT64_MIN, 1}, {(int64_t)1 << 62, 4}, {0, 3}};
  for (size_t i = 0; i < sizeof wrong_shapes / sizeof wrong_shapes[0]; ++i) {
    bad[0] = good;
    bad[0].shape = wrong_shapes[i];
    EXPECT(refuses(model, bad, 1, "\"x\""));
  }

  bad[0] = good;
  bad[0].data = NULL;
  EXPECT(refuses(model, bad, 1, "data"));
  bad[0] = good;
  bad[0].bytes = sizeof f32 - 1;
  EXPECT(refuses(model, bad, 1, "has 23 bytes"));
  bad[0].bytes = SIZE_MAX; /* more than there is to read */
  EXPECT(refuses(model, bad, 1, "bytes"));
  bad[0].bytes = 0;
  EXPECT(refuses(model, bad, 1, "has 0 bytes"));

  EXPECT(gossamer_run(model, &good, 1, made, 3) == 0); /* nothing of this did harm */
  EXPECT(((const float*)made[1].data)[5] == 100);
  EXPECT(gossamer_input_name(model, 1) == NULL && gossamer_output_name(model, 3) == NULL);
  EXPECT(gossamer_input_port(model, 1).shape == NULL);
  EXPECT(gossamer_output_port(model, SIZE_MAX).rank == 0);
  return NULL;
}

static const char* check_bad_strings(gossamer_model* model) {
  gossamer_string texts[6];
  memcpy(texts, strings, sizeof texts);
  gossamer_tensor x = {GOSSAMER_STRING, 2, shape, texts, sizeof texts};
  gossamer_tensor made[3];
  EXPECT(gossamer_run(model, &x, 1, made, 3) == 0);
  x.bytes = 6; /* elements are meant to be counted in bytes */
  EXPECT(refuses(model, &x, 1, "has 6 bytes"));
  x.bytes = sizeof texts;
  x.data = NULL;
  EXPECT(refuses(model, &x, 1, "data"));
  x.data = texts;
  texts[2].data = NULL;
  EXPECT(refuses(model, &x, 1, "string whose data is NULL"));
  texts[2].bytes = 0; /* an empty one, which is no number */
  EXPECT(gossamer_run(model, &x, 1, made, 3) == 0);
  EXPECT(((const gossamer_string*)made[0].data)[2].bytes == 0);
  texts[2].data = "\0\xff"; /* any bytes */
  texts[2].bytes = 2;
  EXPECT(gossamer_run(model, &x, 1, made, 3) == 0);
  EXPECT(((const gossamer_string*)made[0].data)[8].bytes == 2);
  EXPECT(memcmp(((const gossamer_string*)made[0].data)[8].data, "\0\xff", 2) == 0);
  return NULL;
}

const char* check_bad_input(const char* folder, const char* texts) {
  EXPECT(gossamer_load(NULL, 1) == NULL);
  EXPECT(strstr(gossamer_error(), "folder"));
  EXPECT(gossamer_load("", 1) == NULL);
  EXPECT(gossamer_run(NULL, NULL, 0, NULL, 0) != 0);
  EXPECT(gossamer_input_count(NULL) == 0 && gossamer_output_count(NULL) == 0);
  EXPECT(gossamer_input_name(NULL, 0) == NULL && gossamer_output_name(NULL, 0) == NULL);
  EXPECT(gossamer_input_port(NULL, 0).shape == NULL && gossamer_output_port(NULL, 0).rank == 0);
  gossamer_free(NULL);
  gossamer_model* model = gossamer_load(folder, 1000000); /* more threads than there can be */
  EXPECT(model != NULL);
  const char* wrong = check_bad_tensors(model);
  gossamer_free(model);
  if (wrong) return wrong;
  model = gossamer_load(texts, -3);
  EXPECT(model != NULL);
  wrong = check_bad_strings(model);
  gossamer_free(model);
  return wrong;
}
