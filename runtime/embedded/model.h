/* The run time's own names; what users see is written by src/library. */
#ifndef GOSSAMER_MODEL_H
#define GOSSAMER_MODEL_H

#include "program.h"

typedef struct gossamer_model gossamer_model;

/* As the header of a library has them, by the model's name. */
enum {
  GOSSAMER_OK,
  GOSSAMER_NULL,
  GOSSAMER_NOT_READY,
  GOSSAMER_SIZE,
  GOSSAMER_ROOM,
  GOSSAMER_DIMENSION,
  GOSSAMER_MEMORY,
  GOSSAMER_CONDITION,
  GOSSAMER_PROCESSOR,
  GOSSAMER_WEIGHTS,
  GOSSAMER_ALIGNMENT,
  GOSSAMER_DEVICE /* of programs alone */
};

/* Before the functions' declarations; one file of C says static. */
#ifndef GS_LINKAGE
#define GS_LINKAGE
#endif

/* Made beside this file, one set a model. */
extern const int64_t gossamer_program[];
extern const char gossamer_texts[];
extern gs_kernel* const gossamer_kernels[];
extern gs_plan* const gossamer_plans[];
extern const unsigned char* const gossamer_weights; /* NULL: the caller has them */

/* `threads`: 0 is one a core. Compiled with GOSSAMER_NO_MALLOC, nothing is ever allocated. */
#ifndef GOSSAMER_NO_MALLOC
GS_LINKAGE int gossamer_model_init(gossamer_model** model, int threads, const void* weights,
                                   size_t weight_bytes);
#endif
#ifndef GS_ALLOCATES /* of one file: sizes that a run decides */
GS_LINKAGE int gossamer_model_init_in(gossamer_model** model, void* memory, size_t memory_bytes,
                                      const void* weights, size_t weight_bytes);
#endif
/* `values`: the dimensions, {pointer, size_t} a port, extents of outputs that a run decides. */
GS_LINKAGE int gossamer_model_run(gossamer_model* model, void* values);
GS_LINKAGE void gossamer_model_free(gossamer_model* model);
GS_LINKAGE const char* gossamer_model_error(const gossamer_model* model);
GS_LINKAGE const char* gossamer_model_message(int code);

#ifndef GS_ONE_FILE
/* For models that hold their weights. */
int gossamer_model_init_inside(gossamer_model** model, int threads);
int gossamer_model_init_in_inside(gossamer_model** model, void* memory, size_t memory_bytes);
size_t gossamer_model_bytes(void);
/* A run without the outputs, of which only the memory must be there, and where one then lies until
   the next call; NULL where a device does not give it. */
int gossamer_model_compute(gossamer_model* model, void* values);
const unsigned char* gossamer_model_output(gossamer_model* model, int64_t output, int64_t* extents,
                                           int64_t* bytes);
#endif

/* What launches run on and slots lie in: host.c has the CPU and memory of the program's own, gpu.c
   also a GPU that the engine gives. */
struct gs_slot {
  unsigned char* memory; /* of GS_SLOT_GPU the engine's number for it */
  void* allocated;       /* what is freed, where it is the slot's own */
  int64_t capacity;
};
enum { GS_NO_DEVICE = -1, GS_ANY_DEVICE, GS_FAST_DEVICE };
/* Which launches it is for; what messages say where there is none. */
GS_LINKAGE int gs_open_device(void);
/* Why something below has failed: a text with its end. */
GS_LINKAGE void gs_device_error(char* to, size_t room);
/* Other memory of the device, whose contents are not kept. Whether there was. */
GS_LINKAGE int gs_reserve_on_device(struct gs_slot* slot, int64_t bytes);
GS_LINKAGE void gs_release_on_device(struct gs_slot* slot);
/* Elements of a slot from the `first` on, which it stores as `kind`. */
struct gs_elements {
  unsigned char* memory; /* gs_slot's */
  int64_t place;         /* GS_SLOT_... */
  int64_t kind, first;
};
/* Moves elements, converted. -1, the first one that has no place there, or GS_FAILED. */
enum { GS_FAILED = -2 };
GS_LINKAGE int64_t gs_put(struct gs_elements to, const unsigned char* from, int64_t kind,
                          int64_t count);
GS_LINKAGE int64_t gs_get(struct gs_elements from, unsigned char* to, int64_t kind, int64_t count);
GS_LINKAGE int64_t gs_move(struct gs_elements from, struct gs_elements to, int64_t count);
/* Elements where they lie, or where they stay until the next call; NULL where that failed. */
GS_LINKAGE const unsigned char* gs_view(struct gs_elements from, int64_t kind, int64_t count);
/* Bytes of an element. */
GS_LINKAGE size_t gs_size(int64_t kind);
/* Whether the device takes a kernel, before it is launched, and a launch of it. */
GS_LINKAGE int gs_prepare(int64_t kernel);
struct gs_pool;
GS_LINKAGE int gs_call(struct gs_pool* pool, int64_t kernel, gs_word range, void* const* arguments);

/* Threads (threads.c; none in one_thread.c) */
GS_LINKAGE struct gs_pool* gs_start(int threads);
GS_LINKAGE void gs_stop(struct gs_pool* pool);
/* Calls the kernel over [0, range) in parts. */
GS_LINKAGE void gs_share(struct gs_pool* pool, gs_kernel* kernel, gs_word range,
                         void* const* arguments);

#endif
