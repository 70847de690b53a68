/* volt.c: the library's locks, blocking. Engine "volt". */
#include <volt/volt.h>

#include "crew.h"

typedef volt_mutex bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  volt_mutex_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  volt_mutex_lock_no_deadline(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  volt_mutex_unlock(lock);
}

typedef volt_rwlock bench_rw;
typedef int bench_rw_place;

static inline void bench_rw_init(bench_rw *rw) {
  volt_rwlock_init(rw);
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_read_no_deadline(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_read_unlock(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_write_no_deadline(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  volt_rwlock_write_unlock(rw);
}

#include "engine_sem.h"
#include "lock_loops.h"
#include "rwlock_loops.h"

static const bench_workload workloads[] = {BENCH_LOCK_WORKLOADS,   BENCH_SEM_WORKLOADS,
                                           BENCH_PERMIT_WORKLOADS, BENCH_RW_WORKLOADS,
                                           BENCH_WAITER_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"volt", engine_version, workloads};
