/* glibc_sem.c: sem_t. It is the semaphore of engine "default", and, with -DALONE, engine "sem_t",
 * which has timeout by sem_clockwait() as well: the default's is by pthread_mutex_clocklock(). */
#include <errno.h>
#include <semaphore.h>

#include "crew.h"
#include "glibc.h"

typedef sem_t bench_sem;

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  sem_init(sem, 0, permits);
}

static inline void bench_sem_take(bench_sem *sem) {
  while (sem_wait(sem) != 0) continue; /* interrupted */
}

static inline void bench_sem_give(bench_sem *sem) {
  sem_post(sem);
}

static inline bool bench_sem_try_take(bench_sem *sem) {
  return sem_trywait(sem) == 0;
}

#include "sem_loops.h"

#ifdef ALONE
typedef sem_t bench_permit;

static inline void bench_permit_init(bench_permit *permit) {
  bench_sem_init(permit, 1);
}

static inline void bench_permit_take(bench_permit *permit) {
  bench_sem_take(permit);
}

static inline bool bench_permit_take_within(bench_permit *permit, uint64_t ns) {
  struct timespec deadline = glibc_time_after(ns);
  while (sem_clockwait(permit, CLOCK_MONOTONIC, &deadline) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

static inline void bench_permit_give(bench_permit *permit) {
  bench_sem_give(permit);
}

#include "permit_loops.h"

static const bench_workload workloads[] = {
    BENCH_SEM_WORKLOADS, BENCH_PERMIT_WORKLOADS, {NULL, NULL}};
const bench_engine BENCH_ENGINE = {"sem_t", glibc_version, workloads};
#else
static const bench_workload workloads[] = {BENCH_SEM_WORKLOADS, {NULL, NULL}};
const bench_engine BENCH_ENGINE = {"default", glibc_version, workloads};
#endif
