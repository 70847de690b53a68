/* volt.c: the library's locks, blocking: engine "volt". Or, with BENCH_VARIANT and ENGINE_<NAME>
 * defined (tests/support/engine.h), a semaphore of bench/variants/, and as a mutex one permit of it. */
#include <volt/volt.h>

#include "engine.h"
#include "ignore.h"
#include "threads.h"

typedef engine_sem bench_sem;

static inline void bench_sem_init(bench_sem *sem, uint32_t permits) {
  engine_sem_init(sem, permits);
}

static inline void bench_sem_take(bench_sem *sem) {
  ignore_result(engine_sem_acquire_until(sem, 1, VOLT_NO_DEADLINE));
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
  return engine_sem_acquire_until(permit, 1, volt_deadline_ns(ns)) == VOLT_OK;
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

#ifdef BENCH_VARIANT

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

#define BENCH_MORE_WORKLOADS

#else

typedef volt_mutex bench_lock;
typedef int bench_place;

#define BENCH_LOCK_INIT(lock, o) volt_mutex_init_bypass((lock), (o)->bypass)

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  volt_mutex_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  volt_mutex_unlock(lock);
}

typedef volt_rwlock bench_rw;
typedef int bench_rw_place;

#define BENCH_RW_INIT(rw, o) volt_rwlock_init_bypass((rw), (o)->bypass)

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_read(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_read_unlock(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_write(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_write_unlock(rw);
}

#include "lock_loops.h"
#include "rwlock_loops.h"

#define BENCH_MORE_WORKLOADS BENCH_RW_WORKLOADS,

#endif

static const bench_workload workloads[] = {BENCH_LOCK_WORKLOADS,
                                           BENCH_SEM_WORKLOADS,
                                           BENCH_PERMIT_WORKLOADS,
                                           BENCH_MORE_WORKLOADS BENCH_WAITER_WORKLOADS,
                                           {NULL, NULL}};

const bench_engine BENCH_ENGINE = {ENGINE_NAME, engine_version, workloads};
