/* nsync.c: nsync's mu, which has read locks, too; and a semaphore of mu, cv and a count. Engine
 * "nsync". Conditions are waited for by nsync_cv, in a loop, as nsync_cv.h shows: who gives signals
 * after it has unlocked, which nsync_cv.h allows. */
#include <nsync.h>

#include "crew.h"

/* ---- mutex ---- */

typedef nsync_mu bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  nsync_mu_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  nsync_mu_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  nsync_mu_unlock(lock);
}

/* ---- read-write lock ---- */

typedef nsync_mu bench_rw;
typedef int bench_rw_place;

static inline void bench_rw_init(bench_rw *rw) {
  nsync_mu_init(rw);
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_rlock(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_runlock(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_lock(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  nsync_mu_unlock(rw);
}

/* ---- semaphore ---- */

typedef struct bench_sem {
  nsync_mu mu;
  nsync_cv some;
  uint32_t permits;
} bench_sem;

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  nsync_mu_init(&sem->mu);
  nsync_cv_init(&sem->some);
  sem->permits = permits;
}

static inline void bench_sem_take(bench_sem *sem) {
  nsync_mu_lock(&sem->mu);
  while (sem->permits == 0) nsync_cv_wait(&sem->some, &sem->mu);
  sem->permits -= 1;
  nsync_mu_unlock(&sem->mu);
}

static inline void bench_sem_give(bench_sem *sem) {
  nsync_mu_lock(&sem->mu);
  sem->permits += 1;
  nsync_mu_unlock(&sem->mu);
  nsync_cv_signal(&sem->some);
}

static inline bool bench_sem_try_take(bench_sem *sem) {
  nsync_mu_lock(&sem->mu);
  bool taken = sem->permits > 0;
  sem->permits -= taken;
  nsync_mu_unlock(&sem->mu);
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
  nsync_time deadline = nsync_time_add(nsync_time_now(), nsync_time_s_ns(0, (unsigned)ns));
  int outcome = 0;
  nsync_mu_lock(&permit->mu);
  while (permit->permits == 0 && outcome == 0) {
    outcome = nsync_cv_wait_with_deadline(&permit->some, &permit->mu, deadline, NULL);
  }
  bool taken = permit->permits > 0;
  permit->permits -= taken;
  nsync_mu_unlock(&permit->mu);
  return taken;
}

static inline void bench_permit_give(bench_permit *permit) {
  bench_sem_give(permit);
}

#include "lock_loops.h"
#include "permit_loops.h"
#include "rwlock_loops.h"
#include "sem_loops.h"

static const char *version(void) {
  return "nsync " VERSION_TEXT;
}

static const bench_workload workloads[] = {BENCH_LOCK_WORKLOADS,
                                           BENCH_RW_WORKLOADS,
                                           BENCH_SEM_WORKLOADS,
                                           BENCH_PERMIT_WORKLOADS,
                                           {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"nsync", version, workloads};
