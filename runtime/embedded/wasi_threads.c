/* Threads of programs for engines with wasi-threads (https://github.com/WebAssembly/wasi-threads):
   as many as the compiler was told, for as long as the program runs. As threads.c has them
   otherwise. */
#include <stdatomic.h>
#include <stdlib.h>

#include "model.h"

__attribute__((import_module("wasi"), import_name("thread-spawn"))) extern int wasi_spawn(
    void* argument);
void gossamer_thread_start(int thread, void* argument);

extern const int64_t gossamer_threads[]; /* one word: how many, with the program's own */

enum { GS_STACK = 1 << 20, GS_TURNS = 20000 };

struct gs_pool {
  atomic_int generation, open, active;
  _Atomic(int64_t) next;
  gs_kernel* kernel;
  void* const* arguments;
  int64_t range, chunk;
  int threads;
};

struct gs_worker {
  unsigned char* stack; /* its end, where it begins */
  struct gs_pool* pool;
};

static void gs_chunks(struct gs_pool* pool) {
  for (;;) {
    const int64_t begin = atomic_fetch_add_explicit(&pool->next, pool->chunk, memory_order_relaxed);
    if (begin >= pool->range) return;
    const int64_t end = begin + pool->chunk < pool->range ? begin + pool->chunk : pool->range;
    pool->kernel((gs_word)begin, (gs_word)end, pool->arguments);
  }
}

static __attribute__((noinline)) void gs_work(struct gs_pool* pool) {
  int seen = 0;
  for (;;) {
    for (int turn = 0; atomic_load(&pool->generation) == seen; ++turn)
      if (turn > GS_TURNS) __builtin_wasm_memory_atomic_wait32((int*)&pool->generation, seen, -1);
    seen = atomic_load(&pool->generation);
    atomic_fetch_add(&pool->active, 1); /* before the question: see threads.c */
    if (atomic_load(&pool->open)) gs_chunks(pool);
    atomic_fetch_sub(&pool->active, 1);
  }
}

/* An engine calls this in a new instance, whose stack pointer is the first thread's. */
void gossamer_thread_start(int thread, void* argument) {
  struct gs_worker* const worker = argument;
  (void)thread;
  __asm__ volatile(
      ".globaltype __stack_pointer, i32\n"
      "local.get %0\n"
      "global.set __stack_pointer\n"
      :
      : "r"(worker->stack));
  gs_work(worker->pool);
}

struct gs_pool* gs_start(int threads) {
  if (threads <= 0) threads = (int)gossamer_threads[0];
  struct gs_pool* const pool = malloc(sizeof *pool);
  if (!pool) return NULL;
  atomic_init(&pool->generation, 0);
  atomic_init(&pool->open, 0);
  atomic_init(&pool->active, 0);
  pool->threads = 1;
  while (pool->threads < threads) {
    struct gs_worker* const worker = malloc(sizeof *worker);
    unsigned char* const stack = malloc(GS_STACK);
    if (!worker || !stack) break;
    worker->stack = stack + GS_STACK;
    worker->pool = pool;
    if (wasi_spawn(worker) < 0) break; /* as many as the engine gives */
    ++pool->threads;
  }
  return pool;
}

/* They end with the program. */
void gs_stop(struct gs_pool* pool) { (void)pool; }

void gs_share(struct gs_pool* pool, gs_kernel* kernel, gs_word range, void* const* arguments) {
  if (!pool || pool->threads <= 1 || range == 1) {
    kernel(0, range, arguments);
    return;
  }
  pool->kernel = kernel;
  pool->arguments = arguments;
  pool->range = range;
  pool->chunk = range / (4 * pool->threads) > 1 ? range / (4 * pool->threads) : 1;
  atomic_store(&pool->next, 0);
  atomic_store(&pool->open, 1);
  atomic_fetch_add(&pool->generation, 1);
  __builtin_wasm_memory_atomic_notify((int*)&pool->generation, ~0u);
  gs_chunks(pool);
  atomic_store(&pool->open, 0);
  while (atomic_load(&pool->active) > 0) {
  }
}
