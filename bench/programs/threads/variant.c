/* variant.c: a semaphore of variants/, and as a mutex one permit of it. Compiled for each. */
#include "crew.h"
#include "engine_sem.h"

typedef engine_sem bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  engine_sem_init(lock, 1);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  bench_sem_take(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  bench_sem_give(lock);
}

#include "lock_loops.h"

static const bench_workload workloads[] = {BENCH_LOCK_WORKLOADS,
                                           BENCH_SEM_WORKLOADS,
                                           BENCH_PERMIT_WORKLOADS,
                                           BENCH_WAITER_WORKLOADS,
                                           {NULL, NULL}};

const bench_engine BENCH_ENGINE = {ENGINE_NAME, engine_version, workloads};
