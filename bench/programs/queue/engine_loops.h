/* engine_loops.h: the loops over a semaphore. Compiled once for each engine by engine_<name>.c,
 * which says which one (ENGINE_<NAME>, see tests/support/engine.h) and how its table is called
 * (BENCH_ENGINE). Every loop has the same shape for all. */
#include <stdatomic.h>
#include <string.h>

#include <volt/volt.h>

#include "engine.h"
#include "engines.h"
#include "ignore.h"

static void count_wake(void *ctx) {
  *(uint64_t *)ctx += 1;
}

#include "engine_batch.h" /* batch() */

_Static_assert(sizeof(engine_sem) <= BENCH_ENGINE_BYTES, "bench_memory is too small");

static void init(void *object, uint32_t permits) {
  engine_sem_init((engine_sem *)object, permits);
}

static uint64_t try_pair(void *object, uint64_t count) {
  engine_sem *sem = (engine_sem *)object;
  uint64_t taken = 0;
  uint64_t start_ns = bench_cpu_ns();
  for (uint64_t i = 0; i < count; i++) {
    taken += engine_sem_try_acquire(sem, 1) == VOLT_OK;
    engine_sem_release(sem, 1);
  }
  uint64_t ns = bench_cpu_ns() - start_ns;
  return taken == count ? ns : BENCH_WRONG;
}

static uint64_t blocking_pair(void *object, uint64_t count) {
  engine_sem *sem = (engine_sem *)object;
  uint64_t taken = 0;
  uint64_t start_ns = bench_cpu_ns();
  for (uint64_t i = 0; i < count; i++) {
    taken += engine_sem_acquire_blocking(sem, 1, VOLT_NO_DEADLINE) == VOLT_OK;
    engine_sem_release(sem, 1);
  }
  uint64_t ns = bench_cpu_ns() - start_ns;
  return taken == count ? ns : BENCH_WRONG;
}

/* `waiting` waiters stand in the queue of a semaphore without permits; a release grants the oldest,
 * which queues again at the end. */
static uint64_t handoff(engine_sem *sem, uint64_t count, unsigned waiting) {
  volt_waiter waiters[10];
  uint64_t wakes = 0;
  volt_waker waker = {count_wake, &wakes};
  memset((void *)waiters, 0, sizeof waiters);
  unsigned oldest = 0;
  for (unsigned i = 1; i < waiting; i++) {
    ignore_result(engine_sem_acquire(sem, &waiters[i - 1], 1, waker));
  }
  unsigned youngest = waiting - 1;
  uint64_t start_ns = bench_cpu_ns();
  for (uint64_t i = 0; i < count; i++) {
    ignore_result(engine_sem_acquire(sem, &waiters[youngest], 1, waker));
    engine_sem_release(sem, 1);
    youngest = oldest;
    oldest = oldest + 1 == waiting ? 0 : oldest + 1;
  }
  uint64_t ns = bench_cpu_ns() - start_ns;
  if (waiting > 1) engine_sem_release(sem, waiting - 1);
  return wakes == count + waiting - 1 ? ns : BENCH_WRONG;
}

static uint64_t handoff_1(void *object, uint64_t count) {
  return handoff((engine_sem *)object, count, 1);
}

static uint64_t handoff_8(void *object, uint64_t count) {
  return handoff((engine_sem *)object, count, 8);
}

static uint64_t handoff_10(void *object, uint64_t count) {
  return handoff((engine_sem *)object, count, 10);
}

/* A waiter queues and gives up, while `others` older ones wait. */
static uint64_t cancel_queued(engine_sem *sem, uint64_t count, unsigned others) {
  volt_waiter waiters[9];
  uint64_t wakes = 0;
  volt_waker waker = {count_wake, &wakes};
  memset((void *)waiters, 0, sizeof waiters);
  for (unsigned i = 0; i < others; i++) {
    ignore_result(engine_sem_acquire(sem, &waiters[i], 1, waker));
  }
  uint64_t cancelled = 0;
  uint64_t start_ns = bench_cpu_ns();
  for (uint64_t i = 0; i < count; i++) {
    ignore_result(engine_sem_acquire(sem, &waiters[others], 1, waker));
    cancelled += engine_sem_cancel(sem, &waiters[others]);
  }
  uint64_t ns = bench_cpu_ns() - start_ns;
  if (others > 0) engine_sem_release(sem, others);
  return cancelled == count && wakes == others ? ns : BENCH_WRONG;
}

static uint64_t cancel_1(void *object, uint64_t count) {
  return cancel_queued((engine_sem *)object, count, 0);
}

static uint64_t cancel_8(void *object, uint64_t count) {
  return cancel_queued((engine_sem *)object, count, 8);
}

const bench_engine BENCH_ENGINE = {ENGINE_NAME,   sizeof(engine_sem), init,      try_pair,
                                   blocking_pair, handoff_1,          handoff_8, handoff_10,
                                   cancel_1,      cancel_8,           batch};
