/* ck_lock.c: Concurrency Kit's spinlocks, which never sleep: engine "fas"; or, with -DTICKET or
 * -DMCS, engines "ticket" and "mcs", which serve in order. */
#include <ck_spinlock.h>

#include "crew.h"

#if defined(TICKET)

static const char name[] = "ticket";
typedef ck_spinlock_ticket_t bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  ck_spinlock_ticket_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_ticket_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_ticket_unlock(lock);
}

#elif defined(MCS)

static const char name[] = "mcs";
typedef ck_spinlock_mcs_t bench_lock; /* the end of the queue */
typedef ck_spinlock_mcs_context_t bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  ck_spinlock_mcs_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  ck_spinlock_mcs_lock(lock, place);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  ck_spinlock_mcs_unlock(lock, place);
}

#else

static const char name[] = "fas";
typedef ck_spinlock_fas_t bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  ck_spinlock_fas_init(lock);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_fas_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  ck_spinlock_fas_unlock(lock);
}

#endif

#include "lock_loops.h"

static const char *version(void) {
  return "ck " VERSION_TEXT;
}

static const bench_workload workloads[] = {BENCH_LOCK_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {name, version, workloads};
