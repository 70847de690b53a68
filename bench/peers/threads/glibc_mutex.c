/* glibc_mutex.c: pthread_mutex: engine "default" as it comes, or, with -DADAPTIVE, engine
 * "adaptive", which spins before it sleeps. */
#include <pthread.h>

#include "crew.h"
#include "glibc.h"

#ifdef ADAPTIVE
enum { KIND = PTHREAD_MUTEX_ADAPTIVE_NP };
static const char name[] = "adaptive";
#else
enum { KIND = PTHREAD_MUTEX_DEFAULT };
static const char name[] = "default";
#endif

typedef pthread_mutex_t bench_lock;
typedef int bench_place;

static inline void bench_lock_init(bench_lock *lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, KIND);
  pthread_mutex_init(lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

static inline void bench_lock_take(bench_lock *lock, bench_place *place) {
  (void)place;
  pthread_mutex_lock(lock);
}

static inline void bench_lock_give(bench_lock *lock, bench_place *place) {
  (void)place;
  pthread_mutex_unlock(lock);
}

typedef pthread_mutex_t bench_permit;

static inline void bench_permit_init(bench_permit *permit) {
  bench_lock_init(permit);
}

static inline void bench_permit_take(bench_permit *permit) {
  pthread_mutex_lock(permit);
}

static inline bool bench_permit_take_within(bench_permit *permit, uint64_t ns) {
  struct timespec deadline = glibc_time_after(ns);
  return pthread_mutex_clocklock(permit, CLOCK_MONOTONIC, &deadline) == 0;
}

static inline void bench_permit_give(bench_permit *permit) {
  pthread_mutex_unlock(permit);
}

#include "lock_loops.h"
#include "permit_loops.h"

static const bench_workload workloads[] = {
    BENCH_LOCK_WORKLOADS, BENCH_PERMIT_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {name, glibc_version, workloads};
