/* glibc_cond.c: a semaphore of mutex, condition variable and a count. Engine "cond". */
#include <pthread.h>

#include "crew.h"
#include "glibc.h"

typedef struct bench_sem {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  uint32_t permits;
} bench_sem;

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&sem->mutex, NULL);
  pthread_cond_init(&sem->cond, &attributes);
  pthread_condattr_destroy(&attributes);
  sem->permits = permits;
}

static inline void bench_sem_take(bench_sem *sem) {
  pthread_mutex_lock(&sem->mutex);
  while (sem->permits == 0) pthread_cond_wait(&sem->cond, &sem->mutex);
  sem->permits -= 1;
  pthread_mutex_unlock(&sem->mutex);
}

/* Signal after the unlock, so that who wakes does not run into the mutex. */
static inline void bench_sem_give(bench_sem *sem) {
  pthread_mutex_lock(&sem->mutex);
  sem->permits += 1;
  pthread_mutex_unlock(&sem->mutex);
  pthread_cond_signal(&sem->cond);
}

static inline bool bench_sem_try_take(bench_sem *sem) {
  pthread_mutex_lock(&sem->mutex);
  bool taken = sem->permits > 0;
  sem->permits -= taken;
  pthread_mutex_unlock(&sem->mutex);
  return taken;
}

typedef bench_sem bench_permit;

static inline void bench_permit_init(bench_permit *permit) {
  bench_sem_init(permit, 1);
}

static inline void bench_permit_take(bench_permit *permit) {
  bench_sem_take(permit);
}

static inline bool bench_permit_take_within(bench_permit *permit, uint64_t ns) {
  struct timespec deadline = glibc_time_after(ns);
  int error = 0;
  pthread_mutex_lock(&permit->mutex);
  while (permit->permits == 0 && error == 0) {
    error = pthread_cond_timedwait(&permit->cond, &permit->mutex, &deadline);
  }
  bool taken = permit->permits > 0;
  permit->permits -= taken;
  pthread_mutex_unlock(&permit->mutex);
  return taken;
}

static inline void bench_permit_give(bench_permit *permit) {
  bench_sem_give(permit);
}

#include "permit_loops.h"
#include "sem_loops.h"

static const bench_workload workloads[] = {
    BENCH_SEM_WORKLOADS, BENCH_PERMIT_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"cond", glibc_version, workloads};
