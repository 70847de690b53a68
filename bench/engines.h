/* engines.h: the semaphores that are compared: the library's and each variant. */
#ifndef VOLT_BENCH_ENGINES_H
#define VOLT_BENCH_ENGINES_H

#include <volt/atomic.h>

#include "harness.h"

/* Take one and give it back, by blocking calls, while *phase is this. inside: incremented while it
 * is held; or NULL. Returns how often. */
typedef uint64_t bench_contend_fn(void *object, VOLT_ATOMIC(uint32_t) *phase, uint32_t this,
                                  uint64_t *inside);

/* One engine's loops, compiled with its fast paths inline, as its users get them. */
typedef struct bench_engine {
  const char *name;
  size_t bytes;
  void (*init)(void *object, uint32_t permits);
  bench_loop_fn *try_pair;      /* try_acquire + release */
  bench_loop_fn *blocking_pair; /* acquire_blocking + release */
  bench_loop_fn *handoff_1;     /* acquire (queues) + release (hands over) */
  bench_loop_fn *handoff_8;     /* the same, the oldest of 8 that wait */
  bench_loop_fn *handoff_10;
  bench_loop_fn *cancel_1; /* acquire (queues) + cancel */
  bench_loop_fn *cancel_8; /* the same, behind 8 older ones */
  bench_contend_fn *contend;
} bench_engine;

enum { BENCH_VOLT = 0, BENCH_LOCKED = 1, BENCH_ALLOCATING = 4, BENCH_ENGINES = 6 };
enum { BENCH_ENGINE_BYTES = 256 };
extern const bench_engine bench_volt, bench_locked, bench_two_tier, bench_slot_in_word,
    bench_allocating, bench_combining;

/* All of them, the library's first. */
extern const bench_engine *const bench_engines[BENCH_ENGINES];

/* Memory for an engine's semaphore. */
typedef union bench_memory {
  char bytes[BENCH_ENGINE_BYTES];
  uint64_t words[BENCH_ENGINE_BYTES / 8];
} bench_memory;

#endif
