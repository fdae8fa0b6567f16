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
  GOSSAMER_ALIGNMENT
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
/* A run without the outputs, of which only the memory must be there, and where one then lies. */
int gossamer_model_compute(gossamer_model* model, void* values);
const unsigned char* gossamer_model_output(const gossamer_model* model, int64_t output,
                                           int64_t* extents, int64_t* bytes);
#endif

/* Threads (threads.c; none in one_thread.c) */
struct gs_pool;
GS_LINKAGE struct gs_pool* gs_start(int threads);
GS_LINKAGE void gs_stop(struct gs_pool* pool);
/* Calls the kernel over [0, range) in parts. */
GS_LINKAGE void gs_share(struct gs_pool* pool, gs_kernel* kernel, gs_word range,
                         void* const* arguments);

#endif
