/* Runs a model that is linked into the program: the host program of docs/specs/host.md over tables
   that src/library writes. One C11 file without a library beyond malloc and memcpy, so that it also
   serves wasm without JavaScript and microcontrollers. The names that begin with gossamer_ become
   the model's own. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define GS_COUNT_LIMIT 9007199254740991.0 /* 2^53 - 1: up to here doubles are exact */

struct gossamer_model {
  uint64_t mark;
  void* allocated; /* the whole model, where init allocated it */
  int device;
  struct gs_slot* slots;
  int64_t* variables;
  double* doubles; /* the variables again, as plans read them */
  double* values;  /* of the plan */
  void** arguments;
  const unsigned char* weights;
  const unsigned char* ports; /* the caller's, while a run goes on */
  struct gs_pool* pool;
  char message[160];
};

#define GS_MARK UINT64_C(0x676f7373616d6572)

static const int64_t* gs_words(int table) { return gossamer_program + gossamer_program[table]; }

/* Messages */

static void gs_say(char* to, size_t room, const char* text) {
  size_t at = 0;
  while (at < room - 1 && to[at]) ++at;
  while (at < room - 1 && *text) to[at++] = *text++;
  to[at] = 0;
}

static void gs_say_number(char* to, size_t room, int64_t number) {
  char digits[24];
  size_t at = sizeof digits - 1;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  digits[at] = 0;
  do digits[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0) digits[--at] = '-';
  gs_say(to, room, digits + at);
}

static int gs_fail(struct gossamer_model* model, int code, const char* text) {
  model->message[0] = 0;
  gs_say(model->message, sizeof model->message, text);
  return code;
}

static int gs_fail_device(struct gossamer_model* model) {
  gs_device_error(model->message, sizeof model->message);
  return GOSSAMER_DEVICE;
}

/* Of gs_put and gs_get. */
static int gs_moved(struct gossamer_model* model, int64_t wrong) {
  if (wrong == -1) return GOSSAMER_OK;
  if (wrong == GS_FAILED) return gs_fail_device(model);
  gs_fail(model, GOSSAMER_CONDITION, "element ");
  gs_say_number(model->message, sizeof model->message, wrong);
  gs_say(model->message, sizeof model->message,
         " of an integer tensor does not fit the 32 bits that this target has");
  return GOSSAMER_CONDITION;
}

/* "input "x" takes 12 bytes, 8 are given" */
static int gs_fail_port(struct gossamer_model* model, int code, const char* kind, int64_t name,
                        const char* text, int64_t wanted, const char* between, int64_t given) {
  const size_t room = sizeof model->message;
  gs_fail(model, code, kind);
  gs_say(model->message, room, " \"");
  gs_say(model->message, room, gossamer_texts + name);
  gs_say(model->message, room, "\" ");
  gs_say(model->message, room, text);
  if (!between) return code;
  gs_say_number(model->message, room, wanted);
  gs_say(model->message, room, between);
  gs_say_number(model->message, room, given);
  gs_say(model->message, room, " are given");
  return code;
}

/* Numbers: {0, known} or {1, value of the plan} */

/* INT64_MIN stands for what cannot be given. */
static int64_t gs_number(const struct gossamer_model* model, const int64_t* number) {
  if (!number[0]) return number[1];
  const double value = model->values[number[1]];
  if (!(value > -9223372036854775808.0)) return INT64_MIN;
  return value < 9223372036854775808.0 ? (int64_t)value : INT64_MAX;
}

static int gs_exact(int64_t number) {
  return number <= (int64_t)GS_COUNT_LIMIT && number >= -(int64_t)GS_COUNT_LIMIT;
}

/* a * b of counts; -1 where there is no such count. */
static int64_t gs_times(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  if (a == 0 || b == 0) return 0;
  return a > (int64_t)GS_COUNT_LIMIT / b ? -1 : a * b;
}

/* Memory */

static unsigned char* gs_aligned(void* memory) {
  const uintptr_t at = (uintptr_t)memory;
  return (unsigned char*)((at + GS_ALIGNMENT - 1) / GS_ALIGNMENT * GS_ALIGNMENT);
}

static int64_t gs_rounded(int64_t bytes) {
  return (bytes + GS_ALIGNMENT - 1) / GS_ALIGNMENT * GS_ALIGNMENT;
}

#ifndef GOSSAMER_NO_MALLOC
static int gs_grow(struct gossamer_model* model, struct gs_slot* slot, int64_t bytes) {
  free(slot->allocated);
  slot->allocated = NULL;
  slot->memory = NULL;
  slot->capacity = 0;
  if ((uint64_t)bytes > SIZE_MAX - 2 * GS_SLACK - GS_ALIGNMENT)
    return gs_fail(model, GOSSAMER_MEMORY, "out of memory");
  slot->allocated = malloc((size_t)bytes + 2 * GS_SLACK + GS_ALIGNMENT);
  if (!slot->allocated) return gs_fail(model, GOSSAMER_MEMORY, "out of memory");
  slot->memory = gs_aligned((unsigned char*)slot->allocated + GS_SLACK);
  memset(slot->memory + bytes, 0,
         GS_SLACK); /* read, never used: checkers of memory see it filled */
  slot->capacity = bytes;
  return GOSSAMER_OK;
}
#endif

static struct gs_elements gs_elements_of(const struct gossamer_model* model, int64_t slot,
                                         int64_t kind, int64_t first) {
  const int64_t place = gs_words(GS_SLOTS_AT)[slot * GS_SLOT_WORDS];
  return (struct gs_elements){model->slots[slot].memory, place, kind, first};
}

/* Makes what a segment of the plan has told the sizes of large enough. */
static int gs_provide(struct gossamer_model* model, int64_t segment) {
  const int64_t* row = gs_words(GS_SLOTS_AT);
  for (int64_t at = 0; at < gossamer_program[GS_SLOTS]; ++at, row += GS_SLOT_WORDS) {
    if (row[0] == GS_SLOT_CONSTANT || !row[1] || row[3] != segment) continue;
    const int64_t bytes = gs_number(model, row + 1);
    if (bytes < 0 || !gs_exact(bytes))
      return gs_fail(model, GOSSAMER_DIMENSION, "these dimensions give a tensor no size");
    struct gs_slot* slot = &model->slots[at];
    if (slot->memory && slot->capacity >= bytes) continue;
#ifdef GOSSAMER_NO_MALLOC
    return gs_fail(model, GOSSAMER_MEMORY, "out of memory");
#else
    /* One that grows while a run goes on may do so every round of a loop. */
    const int64_t more = segment > 0 ? slot->capacity + slot->capacity / 2 : 0;
    const int64_t room = more > bytes ? more : bytes;
    const int code = row[0] == GS_SLOT_MEMORY           ? gs_grow(model, slot, room)
                     : gs_reserve_on_device(slot, room) ? GOSSAMER_OK
                                                        : gs_fail_device(model);
    if (code) return code;
#endif
  }
  return GOSSAMER_OK;
}

/* Plan and launches */

static int gs_compute_plan(struct gossamer_model* model, int64_t segment) {
  const int64_t variables = gossamer_program[GS_VARIABLES];
  for (int64_t at = 0; at < variables; ++at) model->doubles[at] = (double)model->variables[at];
  if (gossamer_program[GS_PLAN_VALUES] > 0) gossamer_plans[segment](model->doubles, model->values);
  const int64_t* row = gs_words(GS_CHECKS_AT);
  for (int64_t at = 0; at < gossamer_program[GS_CHECKS]; ++at, row += GS_CHECK_WORDS) {
    if (row[2] != segment) continue;
    const int64_t value = gs_number(model, row);
    if (row[3] < 0 ? value != 0 : value >= 0 && value <= row[3]) continue;
    gs_fail(model, GOSSAMER_CONDITION, gossamer_texts + row[4]);
    if (row[3] >= 0) gs_say(model->message, sizeof model->message, " would have too many elements");
    return GOSSAMER_CONDITION;
  }
  return gs_provide(model, segment);
}

static int gs_launch(struct gossamer_model* model, const int64_t* launch) {
  const int64_t range = gs_number(model, launch + 1);
  const int64_t buffers = launch[3], scalars = launch[4];
  if (range < 0 || !gs_exact(range))
    return gs_fail(model, GOSSAMER_DIMENSION, "these dimensions give work that cannot be counted");
  if (range == 0) return GOSSAMER_OK;
  const int64_t* word = launch + 5;
  for (int64_t at = 0; at < buffers; ++at, ++word) {
    model->arguments[at] = model->slots[*word].memory;
    if (!model->arguments[at])
      return gs_fail(model, GOSSAMER_CONDITION, "a tensor is used before its size is known");
  }
  for (int64_t at = 0; at < scalars; ++at, word += 2) {
    const int64_t scalar = gs_number(model, word);
    if (!gs_exact(scalar) || scalar > INTPTR_MAX || scalar < INTPTR_MIN)
      return gs_fail(model, GOSSAMER_DIMENSION, "these dimensions give too large a number");
    model->arguments[buffers + at] = (void*)(intptr_t)scalar;
  }
#if INTPTR_MAX < INT64_MAX
  if (range > INTPTR_MAX)
    return gs_fail(model, GOSSAMER_DIMENSION, "these dimensions give work that cannot be counted");
#endif
  return gs_call(model->pool, launch[0], (gs_word)range, model->arguments) ? GOSSAMER_OK
                                                                           : gs_fail_device(model);
}

static const int64_t* gs_launches_of(const struct gossamer_model* model, int table) {
  if (model->device == GS_FAST_DEVICE)
    table = table == GS_RUN_AT ? GS_FAST_RUN_AT : GS_FAST_INIT_AT;
  return gs_words(table);
}

static int gs_launches(struct gossamer_model* model, int table, int64_t first, int64_t last) {
  const int64_t* where = gs_launches_of(model, table);
  for (int64_t at = first; at < last; ++at) {
    const int code = gs_launch(model, gossamer_program + where[at]);
    if (code) return code;
  }
  return GOSSAMER_OK;
}

/* Steps */

static void gs_read_port(const unsigned char* port, unsigned char** data, int64_t* bytes) {
  size_t size;
  memcpy(data, port, sizeof *data);
  memcpy(&size, port + sizeof *data, sizeof size);
  *bytes = size > (size_t)INTPTR_MAX ? INT64_MAX : (int64_t)size;
}

size_t gs_size(int64_t kind) {
  static const unsigned char sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 2, 2};
  return sizes[kind];
}

/* Of the kinds that control flow reads. */
static int64_t gs_element(const unsigned char* from, int64_t kind) {
  union {
    int8_t i8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
  } of;
  const double limit = GS_COUNT_LIMIT;
  double real;
  memcpy(&of, from, gs_size(kind));
  switch (kind) {
    case GS_I8:
      return of.i8;
    case GS_U8:
      return *from;
    case GS_BOOL:
      return *from != 0;
    case GS_I16:
      return of.i16;
    case GS_U16:
      return of.u16;
    case GS_I32:
      return of.i32;
    case GS_U32:
      return (int64_t)of.u32;
    case GS_I64:
      return gs_exact(of.i64) ? of.i64 : of.i64 < 0 ? -(int64_t)limit : (int64_t)limit;
    case GS_U64:
      return of.u64 < (uint64_t)limit ? (int64_t)of.u64 : (int64_t)limit;
    case GS_F32:
      real = of.f32;
      break;
    default:
      real = of.f64;
  }
  if (!(real > -limit)) return -(int64_t)limit;
  return real < limit ? (int64_t)real : (int64_t)limit;
}

static int gs_exact_number(struct gossamer_model* model, const int64_t* number, int64_t* value) {
  *value = gs_number(model, number);
  if (gs_exact(*value)) return GOSSAMER_OK;
  return gs_fail(model, GOSSAMER_DIMENSION,
                 "these dimensions give a number too large to count with");
}

static int64_t gs_step_words(const int64_t* step) {
  switch (step[0]) {
    case GS_STEP_LAUNCH:
      return 3;
    case GS_STEP_READ:
      return 6;
    case GS_STEP_PLAN:
      return 2;
    case GS_STEP_SET:
      return 2 + 3 * step[1];
    case GS_STEP_BRANCH:
      return 4 + step[3] + 1 + step[4 + step[3]];
    case GS_STEP_COPY:
      return 9;
    default:
      return 6 + step[5];
  }
}

static int gs_step(struct gossamer_model* model, const int64_t* step);

static int gs_steps(struct gossamer_model* model, const int64_t* step, int64_t words) {
  const int64_t* const end = step + words;
  for (; step < end; step += gs_step_words(step)) {
    const int code = gs_step(model, step);
    if (code) return code;
  }
  return GOSSAMER_OK;
}

static int gs_loop(struct gossamer_model* model, const int64_t* step) {
  int64_t rounds = 0, round = 0;
  int code = gs_exact_number(model, step + 1, &rounds);
  for (model->variables[step[3]] = 0; !code && round < rounds;
       model->variables[step[3]] = ++round) {
    if (step[4] >= 0 && model->variables[step[4]] == 0) break;
    code = gs_steps(model, step + 6, step[5]);
    if (code) return code;
  }
  return code;
}

static int gs_read(struct gossamer_model* model, const int64_t* step) {
  const int64_t size = (int64_t)gs_size(step[2]), count = step[4];
  const unsigned char* from = NULL;
  unsigned char* given = NULL;
  int64_t bytes = model->slots[step[1]].capacity;
  int there = model->slots[step[1]].memory != NULL;
  if (step[5] >= 0) {
    gs_read_port(model->ports + (sizeof(void*) + sizeof(size_t)) * (size_t)step[5], &given, &bytes);
    there = given != NULL;
    from = given;
  }
  if (!there && count > 0)
    return gs_fail(model, GOSSAMER_CONDITION, "a tensor is read before its size is known");
  if (count > bytes / size)
    return gs_fail(model, GOSSAMER_CONDITION, "a tensor has too few elements");
  if (!from && count > 0)
    from = gs_view(gs_elements_of(model, step[1], step[2], 0), step[2], count);
  if (!from && count > 0) return gs_fail_device(model);
  for (int64_t at = 0; at < count; ++at)
    model->variables[step[3] + at] = gs_element(from + at * size, step[2]);
  return GOSSAMER_OK;
}

/* As many as both have. */
static int gs_copy(struct gossamer_model* model, const int64_t* step) {
  const int64_t have = gs_number(model, step + 5), room = gs_number(model, step + 7);
  const int64_t count = have < room ? have : room;
  const struct gs_slot *from = &model->slots[step[1]], *to = &model->slots[step[3]];
  if (!from->memory || !to->memory || count < 0 ||
      count > from->capacity / (int64_t)gs_size(step[2]) ||
      count > to->capacity / (int64_t)gs_size(step[4]))
    return gs_fail(model, GOSSAMER_CONDITION, "a tensor is copied before its size is known");
  return gs_moved(model, gs_move(gs_elements_of(model, step[1], step[2], 0),
                                 gs_elements_of(model, step[3], step[4], 0), count));
}

static int gs_step(struct gossamer_model* model, const int64_t* step) {
  int64_t value = 0;
  int code = GOSSAMER_OK;
  switch (step[0]) {
    case GS_STEP_LAUNCH:
      return gs_launches(model, GS_RUN_AT, step[1], step[2]);
    case GS_STEP_READ:
      return gs_read(model, step);
    case GS_STEP_PLAN:
      return gs_compute_plan(model, step[1]);
    case GS_STEP_SET: /* plan values do not change before the next plan, so one after the other */
      for (int64_t at = 0; at < step[1] && !code; ++at) {
        code = gs_exact_number(model, step + 2 + 3 * at + 1, &value);
        if (!code) model->variables[step[2 + 3 * at]] = value;
      }
      return code;
    case GS_STEP_BRANCH: {
      const int64_t* const no = step + 4 + step[3];
      code = gs_exact_number(model, step + 1, &value);
      if (code) return code;
      return value ? gs_steps(model, step + 4, step[3]) : gs_steps(model, no + 1, no[0]);
    }
    case GS_STEP_COPY:
      return gs_copy(model, step);
    default:
      return gs_loop(model, step);
  }
}

/* What the caller gives: the sizes of dimensions, {pointer, size_t} a port, extents of outputs. */

struct gs_values {
  unsigned char *dims, *ports, *extents;
};

static struct gs_values gs_values_of(void* values) {
  struct gs_values at;
  at.dims = (unsigned char*)values;
  at.ports = at.dims + 8 * gossamer_program[GS_DIMS];
  at.extents = at.ports + (sizeof(void*) + sizeof(size_t)) *
                              (size_t)(gossamer_program[GS_INPUTS] + gossamer_program[GS_OUTPUTS]);
  at.extents = at.dims + (at.extents - at.dims + 7) / 8 * 8;
  return at;
}

static int gs_take_dims(struct gossamer_model* model, const struct gs_values* values) {
  const int64_t* row = gs_words(GS_VARIABLES_AT);
  for (int64_t at = 0; at < gossamer_program[GS_VARIABLES]; ++at) {
    model->variables[at] = 0;
    if (row[at] < 0) continue;
    memcpy(&model->variables[at], values->dims + 8 * row[at], 8);
    if (model->variables[at] < 0 || model->variables[at] > INT32_MAX)
      return gs_fail(model, GOSSAMER_DIMENSION, "a dimension is negative or above 2147483647");
  }
  return GOSSAMER_OK;
}

/* Sizes and pointers of all are looked at before anything is copied. */
static int gs_take_inputs(struct gossamer_model* model, const struct gs_values* values, int copy) {
  const int64_t* row = gs_words(GS_INPUTS_AT);
  const unsigned char* port = values->ports;
  for (int64_t at = 0; at < gossamer_program[GS_INPUTS]; ++at, row += GS_PORT_WORDS) {
    unsigned char* data;
    int64_t bytes, wanted = row[1];
    gs_read_port(port, &data, &bytes);
    port += sizeof(void*) + sizeof(size_t);
    if (copy) {
      const int code = gs_moved(
          model, gs_put(gs_elements_of(model, row[0], row[8], 0), data, row[7], bytes / row[1]));
      if (code) return code;
      continue;
    }
    const int64_t* extent = gossamer_program + row[3];
    for (int64_t axis = 0; axis < row[2]; ++axis, extent += 2) {
      int64_t known = extent[1];
      if (extent[0] >= 0) memcpy(&known, values->dims + 8 * extent[0], 8);
      wanted = gs_times(wanted, known);
    }
    if (wanted < 0)
      return gs_fail_port(model, GOSSAMER_DIMENSION, "input", row[4], "has no size", 0, NULL, 0);
    if (bytes != wanted)
      return gs_fail_port(model, GOSSAMER_SIZE, "input", row[4], "takes ", wanted, " bytes, ",
                          bytes);
    if (!data && bytes > 0)
      return gs_fail_port(model, GOSSAMER_NULL, "input", row[4], "is NULL", 0, NULL, 0);
  }
  return GOSSAMER_OK;
}

/* How many bytes an output has; -1 where it has no size. */
static int64_t gs_output_bytes(const struct gossamer_model* model, const int64_t* row) {
  const int64_t* extent = gossamer_program + row[3];
  int64_t bytes = row[1];
  for (int64_t axis = 0; axis < row[2]; ++axis, extent += 2)
    bytes = gs_times(bytes, gs_number(model, extent));
  return bytes;
}

/* With room for all of them, or none is written; what each takes is told either way. `sized`: only
   those whose shapes no run decides, which can be looked at before it. */
static int gs_give_outputs(struct gossamer_model* model, const struct gs_values* values,
                           int before) {
  int code = GOSSAMER_OK;
  for (int copy = 0; copy < 2 && !code; ++copy) {
    const int64_t* row = gs_words(GS_OUTPUTS_AT);
    unsigned char* port =
        values->ports + (sizeof(void*) + sizeof(size_t)) * (size_t)gossamer_program[GS_INPUTS];
    unsigned char* extents = values->extents;
    for (int64_t at = 0; at < gossamer_program[GS_OUTPUTS]; ++at, row += GS_PORT_WORDS) {
      unsigned char *data, *const here = port;
      int64_t room;
      gs_read_port(port, &data, &room);
      port += sizeof(void*) + sizeof(size_t);
      if (before && row[5]) continue;
      const int64_t bytes = gs_output_bytes(model, row);
      const struct gs_slot* slot = &model->slots[row[0]];
      if (bytes < 0 || (!before && bytes / row[1] > slot->capacity / (int64_t)gs_size(row[8])))
        return gs_fail_port(model, GOSSAMER_DIMENSION, "output", row[4], "has no size", 0, NULL, 0);
      if (!copy && !code && room < bytes)
        code =
            gs_fail_port(model, GOSSAMER_ROOM, "output", row[4], "takes ", bytes, " bytes, ", room);
      if (!copy && !code && !data && bytes > 0)
        code = gs_fail_port(model, GOSSAMER_NULL, "output", row[4], "is NULL", 0, NULL, 0);
      if (copy) {
        code = gs_moved(
            model, gs_get(gs_elements_of(model, row[0], row[8], 0), data, row[7], bytes / row[1]));
        if (code) return code;
      }
      const size_t told = (size_t)bytes;
      memcpy(here + sizeof data, &told, (copy || room < bytes) ? sizeof told : 0);
      if (!row[5]) continue;
      const int64_t* extent = gossamer_program + row[3];
      for (int64_t axis = 0; axis < row[2]; ++axis, extent += 2, extents += 8) {
        const int64_t known = gs_number(model, extent);
        memcpy(extents, &known, 8);
      }
    }
    if (before) break;
  }
  return code;
}

/* Making and freeing */

#if defined(__x86_64__) && !defined(GS_ONE_FILE)
#include <cpuid.h>
static int gs_processor(void) {
  unsigned a, b, c, d, low, high;
  const int64_t needs = gossamer_program[GS_NEEDS];
  if (needs == 0) return 1;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const unsigned wanted = 1u << 12 | 1u << 27 | 1u << 28; /* FMA, XSAVE in use, AVX */
  if ((c & wanted) != wanted || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
  if ((low & 6) != 6 || !(b & 1u << 5)) return 0;
  if (needs == GS_NEEDS_AVX512 || needs == GS_NEEDS_AVX512_VNNI) {
    const int vnni = needs == GS_NEEDS_AVX512 || (c & 1u << 11);
    return (low & 0xe6) == 0xe6 && (b & avx512) == avx512 && vnni;
  }
  if (needs != GS_NEEDS_AVX_VNNI) return 1;
  return a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4);
}
#else
static int gs_processor(void) { return 1; }
#endif

static uint64_t gs_sum(const unsigned char* bytes, size_t count) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    uint64_t word = 0;
    for (int byte = 7; byte >= 0; --byte) word = word << 8 | bytes[at + (size_t)byte];
    sum = (sum ^ word) * UINT64_C(0x100000001b3);
    sum ^= sum >> 29;
  }
  for (; at < count; ++at) sum = (sum ^ bytes[at]) * UINT64_C(0x100000001b3);
  return sum & INT64_MAX;
}

/* What a model takes, but slots whose size a run decides. */
static size_t gs_model_bytes(void) {
  const int64_t* p = gossamer_program;
  return (size_t)gs_rounded((int64_t)sizeof(struct gossamer_model)) + GS_ALIGNMENT +
         (size_t)gs_rounded(p[GS_SLOTS] * (int64_t)sizeof(struct gs_slot)) +
         (size_t)gs_rounded(p[GS_VARIABLES] * 8) * 2 + (size_t)gs_rounded(p[GS_PLAN_VALUES] * 8) +
         (size_t)gs_rounded(p[GS_ARGUMENTS] * (int64_t)sizeof(void*)) + (size_t)p[GS_STATIC_BYTES];
}

static void* gs_take(unsigned char** at, int64_t bytes) {
  void* const taken = *at;
  *at += gs_rounded(bytes);
  return taken;
}

/* Takes what the device has for the model, and the weights there; packs them. */
static int gs_fill(struct gossamer_model* model) {
  const int64_t* p = gossamer_program;
  int code = GOSSAMER_OK;
  model->device = gs_open_device();
  if (model->device == GS_NO_DEVICE) return gs_fail_device(model);
  for (int init = 0; init < 2; ++init) {
    const int64_t* where = gs_launches_of(model, init ? GS_INIT_AT : GS_RUN_AT);
    for (int64_t at = 0; at < p[init ? GS_INIT : GS_RUN]; ++at)
      if (!gs_prepare(p[where[at]])) return gs_fail_device(model);
  }
  const int64_t* row = gs_words(GS_SLOTS_AT);
  for (int64_t slot = 0; slot < p[GS_SLOTS]; ++slot, row += GS_SLOT_WORDS)
    if (row[0] == GS_SLOT_GPU && !row[1] && !gs_reserve_on_device(&model->slots[slot], row[2]))
      return gs_fail_device(model);
  row = gs_words(GS_WEIGHTS_AT);
  for (int64_t weight = 0; !code && weight < p[GS_WEIGHTS]; ++weight, row += GS_WEIGHT_WORDS)
    code = gs_moved(model, gs_put(gs_elements_of(model, row[0], row[4], 0), model->weights + row[1],
                                  row[3], row[2] / (int64_t)gs_size(row[3])));
  if (!code) code = gs_launches(model, GS_INIT_AT, 0, p[GS_INIT]);
  row = gs_words(GS_SPENT_AT);
  for (int64_t at = 0; at < p[GS_SPENT]; ++at) gs_release_on_device(&model->slots[row[at]]);
  return code;
}

/* Lays a model out in memory. */
static int gs_make(struct gossamer_model** made, void* memory, const void* weights, int threads) {
  const int64_t* p = gossamer_program;
  unsigned char* at = gs_aligned(memory);
  struct gossamer_model* model = gs_take(&at, (int64_t)sizeof *model);
  memset(model, 0, sizeof *model);
  model->slots = gs_take(&at, p[GS_SLOTS] * (int64_t)sizeof(struct gs_slot));
  model->variables = gs_take(&at, p[GS_VARIABLES] * 8);
  model->doubles = gs_take(&at, p[GS_VARIABLES] * 8);
  model->values = gs_take(&at, p[GS_PLAN_VALUES] * 8);
  model->arguments = gs_take(&at, p[GS_ARGUMENTS] * (int64_t)sizeof(void*));
  model->weights = (const unsigned char*)weights + GS_SLACK;
  memset(model->variables, 0, (size_t)p[GS_VARIABLES] * 8);
  memset(model->slots, 0, (size_t)p[GS_SLOTS] * sizeof(struct gs_slot));
  for (int64_t value = 0; value < p[GS_PLAN_VALUES]; ++value) model->values[value] = 0;
  const int64_t* row = gs_words(GS_SLOTS_AT);
  at += GS_SLACK;
  for (int64_t slot = 0; slot < p[GS_SLOTS]; ++slot, row += GS_SLOT_WORDS) {
    if (row[0] == GS_SLOT_CONSTANT) {
      model->slots[slot].memory = (unsigned char*)(uintptr_t)(model->weights + row[4]);
      model->slots[slot].capacity = row[2];
    } else if (row[0] == GS_SLOT_MEMORY && !row[1]) {
      model->slots[slot].memory = gs_take(&at, row[2] + GS_SLACK);
      model->slots[slot].capacity = row[2];
      memset(model->slots[slot].memory + row[2], 0, GS_SLACK); /* read, never used */
    }
  }
  model->pool = gs_start(threads);
  *made = model; /* before it can fail, so that its message can be told */
  model->mark = GS_MARK;
  return gs_fill(model);
}

/* As files of weights are. */
static int gs_little_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 1;
}

static int gs_check_init(struct gossamer_model** made, const void* weights, size_t bytes) {
  if (!made) return GOSSAMER_NULL;
  *made = NULL;
  if (!gs_processor()) return GOSSAMER_PROCESSOR;
  if (!gossamer_program[GS_WEIGHT_SUM]) return GOSSAMER_OK;
  if (!weights) return GOSSAMER_NULL;
  if (!gs_little_endian()) return GOSSAMER_PROCESSOR;
  if ((uintptr_t)weights % GS_ALIGNMENT != 0) return GOSSAMER_ALIGNMENT;
  if (bytes != (size_t)gossamer_program[GS_WEIGHT_BYTES] ||
      gs_sum(weights, bytes) != (uint64_t)gossamer_program[GS_WEIGHT_SUM])
    return GOSSAMER_WEIGHTS;
  return GOSSAMER_OK;
}

#ifndef GS_ALLOCATES
int gossamer_model_init_in(gossamer_model** model, void* memory, size_t memory_bytes,
                           const void* weights, size_t weight_bytes) {
  const int code = gs_check_init(model, weights, weight_bytes);
  if (code) return code;
  if (!memory) return GOSSAMER_NULL;
  if (memory_bytes < gs_model_bytes()) return GOSSAMER_MEMORY;
  return gs_make(model, memory, gossamer_weights ? gossamer_weights : weights, 1);
}
#endif

#ifndef GOSSAMER_NO_MALLOC
int gossamer_model_init(gossamer_model** model, int threads, const void* weights,
                        size_t weight_bytes) {
  int code = gs_check_init(model, weights, weight_bytes);
  if (code) return code;
  void* const memory = malloc(gs_model_bytes());
  if (!memory) return GOSSAMER_MEMORY;
  code = gs_make(model, memory, gossamer_weights ? gossamer_weights : weights, threads);
  (*model)->allocated = memory;
  if (!code) return code;
  gossamer_model_free(*model);
  *model = NULL;
  return code;
}
#endif

void gossamer_model_free(gossamer_model* model) {
  if (!model || model->mark != GS_MARK) return;
  model->mark = 0;
  gs_stop(model->pool);
#ifndef GOSSAMER_NO_MALLOC
  for (int64_t at = 0; at < gossamer_program[GS_SLOTS]; ++at) free(model->slots[at].allocated);
  free(model->allocated);
#endif
}

static int gs_compute(struct gossamer_model* model, const struct gs_values* at, int outputs) {
  model->ports = at->ports;
  int code = gs_take_dims(model, at);
  if (!code) code = gs_take_inputs(model, at, 0);
  if (!code) code = gs_compute_plan(model, 0);
  if (!code && outputs) code = gs_give_outputs(model, at, 1);
  if (!code) code = gs_take_inputs(model, at, 1);
  if (code) return code;
  return gossamer_program[GS_STEPS]
             ? gs_steps(model, gs_words(GS_STEPS_AT), gossamer_program[GS_STEPS])
             : gs_launches(model, GS_RUN_AT, 0, gossamer_program[GS_RUN]);
}

int gossamer_model_run(gossamer_model* model, void* values) {
  if (!model || model->mark != GS_MARK) return GOSSAMER_NOT_READY;
  model->message[0] = 0;
  if (!values) return gs_fail(model, GOSSAMER_NULL, "values is NULL");
  const struct gs_values at = gs_values_of(values);
  const int code = gs_compute(model, &at, 1);
  return code ? code : gs_give_outputs(model, &at, 0);
}

const char* gossamer_model_message(int code) {
  static const char* const messages[] = {
      "done",
      "a pointer is NULL",
      "the model is not ready: init has not been called, or failed",
      "an input has another number of bytes",
      "an output has too little room",
      "a dimension cannot be used",
      "out of memory",
      "a condition of the model does not hold",
      "this processor lacks instructions that the model was compiled for",
      "these are not the model's weights",
      "the weights do not lie at a multiple of 64 bytes",
      "the device failed",
  };
  const int count = (int)(sizeof messages / sizeof *messages);
  return code >= 0 && code < count ? messages[code] : "there is no such code";
}

const char* gossamer_model_error(const gossamer_model* model) {
  return model && model->mark == GS_MARK ? model->message
                                         : gossamer_model_message(GOSSAMER_NOT_READY);
}

#ifndef GS_ONE_FILE
size_t gossamer_model_bytes(void) { return gs_model_bytes(); }

int gossamer_model_init_inside(gossamer_model** model, int threads) {
#ifdef GOSSAMER_NO_MALLOC
  (void)model, (void)threads;
  return GOSSAMER_MEMORY;
#else
  return gossamer_model_init(model, threads, NULL, 0);
#endif
}

int gossamer_model_init_in_inside(gossamer_model** model, void* memory, size_t memory_bytes) {
  return gossamer_model_init_in(model, memory, memory_bytes, NULL, 0);
}

int gossamer_model_compute(gossamer_model* model, void* values) {
  const struct gs_values at = gs_values_of(values);
  return gs_compute(model, &at, 0);
}

const unsigned char* gossamer_model_output(gossamer_model* model, int64_t output, int64_t* extents,
                                           int64_t* bytes) {
  const int64_t* row = gs_words(GS_OUTPUTS_AT) + output * GS_PORT_WORDS;
  for (int64_t axis = 0; axis < row[2]; ++axis)
    extents[axis] = gs_number(model, gossamer_program + row[3] + 2 * axis);
  *bytes = gs_output_bytes(model, row);
  const unsigned char* const at =
      gs_view(gs_elements_of(model, row[0], row[8], 0), row[7], *bytes / row[1]);
  if (!at) gs_fail_device(model);
  return at;
}
#endif
