/* engines.h: the semaphores that are compared: the library's and each variant. */
#ifndef VOLT_BENCH_ENGINES_H
#define VOLT_BENCH_ENGINES_H

#include "harness.h"

/* One of the things that can happen to a semaphore, and how it is before: see path_times.c. */
typedef struct bench_path {
  const char *section;
  const char *title;
  enum { BENCH_TRY_ACQUIRE, BENCH_ACQUIRE, BENCH_RELEASE, BENCH_CANCEL } what;
  uint32_t permits;
  unsigned waiting;
} bench_path;

/* Semaphores in a batch, and how many may wait for each: few enough that all of it stays in a
 * first-level cache of 32 KB. */
enum { BENCH_BATCH = 32, BENCH_BATCH_WAITERS = 9 };

/* Make a batch of semaphores, stamp, let it happen to each of them once, stamp, take them apart.
 * *empty_ns: the same with nothing in it. Returns the nanoseconds (volt_now_ns), or BENCH_WRONG. */
typedef uint64_t bench_batch_fn(const bench_path *path, uint64_t *empty_ns);

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
  bench_batch_fn *batch;   /* one path, alone */
} bench_engine;

enum { BENCH_VOLT = 0, BENCH_LOCKED = 1, BENCH_ALLOCATING = 4, BENCH_ENGINES = 6 };
enum { BENCH_ENGINE_BYTES = 256 };
extern const bench_engine bench_volt, bench_locked, bench_two_tier, bench_slot_in_word,
    bench_allocating, bench_combining;

/* All of them, the library's first. */
extern const bench_engine *const bench_engines[BENCH_ENGINES];

/* The sections. */
void bench_uncontended(void);
void bench_path_times(void);
void bench_handoff(void);
void bench_allocation(void);

/* Memory for an engine's semaphore. */
typedef union bench_memory {
  char bytes[BENCH_ENGINE_BYTES];
  uint64_t words[BENCH_ENGINE_BYTES / 8];
} bench_memory;

#endif
