/* engine_sem.h: a semaphore of volt, the library's or one of variants/ (tests/support/engine.h says
 * which), as semaphore and as permit. */
#ifndef VOLT_BENCH_ENGINE_SEM_H
#define VOLT_BENCH_ENGINE_SEM_H

#include <volt/volt.h>

#include "engine.h"
#include "ignore.h"

typedef engine_sem bench_sem;

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  engine_sem_init(sem, permits);
}

static inline void bench_sem_take(bench_sem *sem) {
  ignore_result(engine_sem_acquire_blocking(sem, 1, VOLT_NO_DEADLINE));
}

static inline void bench_sem_give(bench_sem *sem) {
  engine_sem_release(sem, 1);
}

static inline bool bench_sem_try_take(bench_sem *sem) {
  return engine_sem_try_acquire(sem, 1) == VOLT_OK;
}

typedef engine_sem bench_permit;

static inline void bench_permit_init(bench_permit *permit) {
  engine_sem_init(permit, 1);
}

static inline void bench_permit_take(bench_permit *permit) {
  bench_sem_take(permit);
}

static inline bool bench_permit_take_within(bench_permit *permit, uint64_t ns) {
  return engine_sem_acquire_blocking(permit, 1, volt_deadline_ns(ns)) == VOLT_OK;
}

static inline void bench_permit_give(bench_permit *permit) {
  bench_sem_give(permit);
}

static const char *engine_version(void) {
  return "volt " BENCH_TEXT(VOLT_VERSION_MAJOR) "." BENCH_TEXT(VOLT_VERSION_MINOR) "." BENCH_TEXT(
      VOLT_VERSION_PATCH);
}

#include "permit_loops.h"
#include "sem_loops.h"
#include "waiter_loops.h"

#endif
