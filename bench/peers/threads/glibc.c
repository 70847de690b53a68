/* glibc.c: what pthreads and semaphore.h have, each an engine of its own: compiled for each, with
 * ENGINE_<NAME> defined. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "threads.h"

static inline const char *glibc_version(void) {
  static char text[32];
  snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
  return text;
}

/* The time so far from now, on CLOCK_MONOTONIC. */
static inline struct timespec glibc_time_after(uint64_t ns) {
  uint64_t then_ns = bench_now_ns() + ns;
  struct timespec then = {(time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u)};
  return then;
}

#if defined(ENGINE_MUTEX) || defined(ENGINE_ADAPTIVE)
/* pthread_mutex: "default" as it comes; "adaptive" spins before it sleeps. */

#ifdef ENGINE_ADAPTIVE
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

#elif defined(ENGINE_SEM) || defined(ENGINE_SEM_T)
/* sem_t: the semaphore of "default", and "sem_t", which has timeout by sem_clockwait() as well: the
 * default's is by pthread_mutex_clocklock(). */

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

#ifdef ENGINE_SEM_T
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

#elif defined(ENGINE_RWLOCK) || defined(ENGINE_WRITER)
/* pthread_rwlock: "default" lets readers overtake writers that wait; "writer" does not. */

#ifdef ENGINE_WRITER
enum { KIND = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
static const char name[] = "writer";
#else
enum { KIND = PTHREAD_RWLOCK_DEFAULT_NP };
static const char name[] = "default";
#endif

typedef pthread_rwlock_t bench_rw;
typedef int bench_rw_place;

static inline void bench_rw_init(bench_rw *rw) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, KIND);
  pthread_rwlock_init(rw, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

static inline void bench_rw_read(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_rdlock(rw);
}

static inline void bench_rw_read_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_unlock(rw);
}

static inline void bench_rw_write(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_wrlock(rw);
}

static inline void bench_rw_write_end(bench_rw *rw, bench_rw_place *place) {
  (void)place;
  pthread_rwlock_unlock(rw);
}

#include "rwlock_loops.h"

static const bench_workload workloads[] = {BENCH_RW_WORKLOADS, {NULL, NULL}};

const bench_engine BENCH_ENGINE = {name, glibc_version, workloads};

#elif defined(ENGINE_COND)
/* A semaphore of mutex, condition variable and a count. */

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

#elif defined(ENGINE_FAMILY)
/* What else pthreads have, when no thread waits: barrier, once, condition variable; "default". */

/* a barrier for one */
static void meet(bench_member *m) {
  uint64_t went = 0; /* as it should */
  pthread_barrier_t *barrier = (pthread_barrier_t *)m->object;
  for (uint64_t i = 0; i < m->operations; i++) {
    went += pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  }
  bench_require(went == m->operations, "the only one leads");
}

static bench_outcome alone_barrier(const bench_options *o) {
  static bench_crew crew;
  pthread_barrier_t barrier;
  bench_require(pthread_barrier_init(&barrier, NULL, 1) == 0, "there is a barrier");
  bench_outcome outcome = bench_march(&crew, o, &barrier, meet);
  pthread_barrier_destroy(&barrier);
  return outcome;
}

static unsigned calls;

static void call(void) {
  calls++;
}

/* come when it is done */
static void come(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) pthread_once((pthread_once_t *)m->object, call);
}

static bench_outcome alone_once(const bench_options *o) {
  static bench_crew crew;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  bench_outcome outcome = bench_march(&crew, o, &once, come);
  bench_require(calls == 1, "it was done once");
  return outcome;
}

/* signal, without the mutex */
static void tell(bench_member *m) {
  for (uint64_t i = 0; i < m->operations; i++) pthread_cond_signal((pthread_cond_t *)m->object);
}

static bench_outcome alone_cond(const bench_options *o) {
  static bench_crew crew;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  return bench_march(&crew, o, &cond, tell);
}

static const bench_workload workloads[] = {{"alone-barrier", alone_barrier},
                                           {"alone-once", alone_once},
                                           {"alone-cond", alone_cond},
                                           {NULL, NULL}};

const bench_engine BENCH_ENGINE = {"default", glibc_version, workloads};

#endif
