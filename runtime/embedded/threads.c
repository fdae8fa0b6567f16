/* Threads that share a kernel's range, as runtime/cpu/thread_pool.cc has them: they spin for about
   a millisecond, the time between two kernels of a run, before they sleep. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

enum { GS_MOST_THREADS = 1024 };

struct gs_pool {
  atomic_uint generation;
  atomic_int open, active, stopping;
  _Atomic(int64_t) next;
  gs_kernel* kernel;
  void* const* arguments;
  int64_t range, chunk;
  int threads; /* with the caller's */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t workers[];
};

static void gs_pause(void) {
#if defined(__x86_64__)
  __asm__ volatile("pause");
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t gs_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void gs_chunks(struct gs_pool* pool) {
  for (;;) {
    const int64_t begin = atomic_fetch_add_explicit(&pool->next, pool->chunk, memory_order_relaxed);
    if (begin >= pool->range) return;
    const int64_t end = begin + pool->chunk < pool->range ? begin + pool->chunk : pool->range;
    pool->kernel((gs_word)begin, (gs_word)end, pool->arguments);
  }
}

static void gs_await(struct gs_pool* pool, unsigned seen) {
  const int64_t until = gs_nanoseconds() + 1000000;
  do {
    for (int turn = 0; turn < 64; ++turn) {
      if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) return;
      gs_pause();
    }
  } while (gs_nanoseconds() < until);
  pthread_mutex_lock(&pool->lock);
  while (atomic_load_explicit(&pool->generation, memory_order_acquire) == seen)
    pthread_cond_wait(&pool->changed, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

static void gs_next_generation(struct gs_pool* pool) {
  pthread_mutex_lock(&pool->lock);
  atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&pool->lock);
}

static void* gs_work(void* context) {
  struct gs_pool* const pool = context;
  unsigned seen = 0;
  for (;;) {
    gs_await(pool, seen);
    seen = atomic_load_explicit(&pool->generation, memory_order_acquire);
    if (atomic_load(&pool->stopping)) return NULL;
    atomic_fetch_add(&pool->active,
                     1); /* before the question: `open` is closed before this is read */
    if (atomic_load(&pool->open)) gs_chunks(pool);
    atomic_fetch_sub(&pool->active, 1);
  }
}

struct gs_pool* gs_start(int threads) {
  if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (threads > GS_MOST_THREADS) threads = GS_MOST_THREADS;
  if (threads <= 1) return NULL;
  struct gs_pool* const pool = calloc(1, sizeof *pool + (size_t)threads * sizeof(pthread_t));
  if (!pool) return NULL;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->changed, NULL);
  pool->threads = 1;
  while (pool->threads < threads &&
         pthread_create(&pool->workers[pool->threads], NULL, gs_work, pool) == 0)
    ++pool->threads; /* as many as there are */
  return pool;
}

void gs_stop(struct gs_pool* pool) {
  if (!pool) return;
  atomic_store(&pool->stopping, 1);
  gs_next_generation(pool);
  for (int at = 1; at < pool->threads; ++at) pthread_join(pool->workers[at], NULL);
  pthread_cond_destroy(&pool->changed);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

void gs_share(struct gs_pool* pool, gs_kernel* kernel, gs_word range, void* const* arguments) {
  if (!pool || pool->threads <= 1 || range == 1) {
    kernel(0, range, arguments);
    return;
  }
  pool->kernel = kernel;
  pool->arguments = arguments;
  pool->range = range;
  pool->chunk = range / (4 * pool->threads) > 1 ? range / (4 * pool->threads) : 1;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  atomic_store(&pool->open, 1);
  gs_next_generation(pool);
  gs_chunks(pool);
  atomic_store(&pool->open, 0);
  for (int turn = 0; atomic_load(&pool->active) > 0; ++turn) {
    gs_pause();
    if (turn % 1024 == 1023) {
      const struct timespec moment = {0, 1000};
      nanosleep(&moment, NULL); /* a worker may have lost its core */
    }
  }
}
