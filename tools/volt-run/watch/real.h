/* real.h: the functions of glibc that ours stand before. */
#ifndef WATCH_REAL_H
#define WATCH_REAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define REAL_LOCKS(F)                                                                            \
  F(int, pthread_mutex_init, (pthread_mutex_t *, const pthread_mutexattr_t *))                   \
  F(int, pthread_mutex_destroy, (pthread_mutex_t *))                                             \
  F(int, pthread_mutex_lock, (pthread_mutex_t *))                                                \
  F(int, pthread_mutex_trylock, (pthread_mutex_t *))                                             \
  F(int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *))                  \
  F(int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, const struct timespec *))       \
  F(int, pthread_mutex_unlock, (pthread_mutex_t *))                                              \
  F(int, pthread_rwlock_init, (pthread_rwlock_t *, const pthread_rwlockattr_t *))                \
  F(int, pthread_rwlock_destroy, (pthread_rwlock_t *))                                           \
  F(int, pthread_rwlock_rdlock, (pthread_rwlock_t *))                                            \
  F(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *))                                         \
  F(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *, const struct timespec *))              \
  F(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t *, clockid_t, const struct timespec *))   \
  F(int, pthread_rwlock_wrlock, (pthread_rwlock_t *))                                            \
  F(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *))                                         \
  F(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *, const struct timespec *))              \
  F(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t *, clockid_t, const struct timespec *))   \
  F(int, pthread_rwlock_unlock, (pthread_rwlock_t *))                                            \
  F(int, pthread_cond_init, (pthread_cond_t *, const pthread_condattr_t *))                      \
  F(int, pthread_cond_destroy, (pthread_cond_t *))                                               \
  F(int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *))                               \
  F(int, pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) \
  F(int, pthread_cond_clockwait,                                                                 \
    (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))                   \
  F(int, pthread_cond_signal, (pthread_cond_t *))                                                \
  F(int, pthread_cond_broadcast, (pthread_cond_t *))                                             \
  F(int, sem_init, (sem_t *, int, unsigned))                                                     \
  F(int, sem_destroy, (sem_t *))                                                                 \
  F(int, sem_wait, (sem_t *))                                                                    \
  F(int, sem_trywait, (sem_t *))                                                                 \
  F(int, sem_timedwait, (sem_t *, const struct timespec *))                                      \
  F(int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *))                           \
  F(int, sem_post, (sem_t *))                                                                    \
  F(int, sem_getvalue, (sem_t *, int *))                                                         \
  F(int, pthread_barrier_init, (pthread_barrier_t *, const pthread_barrierattr_t *, unsigned))   \
  F(int, pthread_barrier_destroy, (pthread_barrier_t *))                                         \
  F(int, pthread_barrier_wait, (pthread_barrier_t *))

#define REAL_FUNCTIONS(F)                    \
  REAL_LOCKS(F)                              \
  F(int, pthread_join, (pthread_t, void **)) \
  F(int, pthread_clockjoin_np, (pthread_t, void **, clockid_t, const struct timespec *))

struct real {
#define REAL_MEMBER(result, name, arguments) result(*name) arguments;
  REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
};

extern struct real real __attribute__((visibility("hidden")));

/* Find them, at the first call of any of ours: constructors of other libraries may come before ours. If volt-run was
 * asked for it, those of locks are volt's then (serve/serve.h). */
void real_find(void);

enum { REAL_NOT_BEGUN, REAL_SEARCHES, REAL_IS_READY };
extern _Atomic int real_stage __attribute__((visibility("hidden")));

static inline void real_begin(void) {
  bool is_ready = atomic_load_explicit(&real_stage, memory_order_acquire) == REAL_IS_READY;
  if (__builtin_expect(!is_ready, 0)) real_find();
}

/* glibc's name of the same function that programs from before 2010 call. */
#if defined(__clang__)
#define REAL_ALIAS(name) alias(#name)
#else
#define REAL_ALIAS(name) alias(#name), copy(name)
#endif
#define REAL_OLD_NAME(name, arguments) \
  __attribute__((visibility("default"), REAL_ALIAS(name))) int __##name arguments;

/* Where glibc keeps what kind a mutex is. Returns false: this glibc keeps it elsewhere. */
bool real_is_known(void);

enum {
  REAL_RECURSIVE = 1,
  REAL_KINDS = 3,
  REAL_ROBUST = 16,
  REAL_INHERITS = 32,
  REAL_CEILING = 64,
  REAL_SHARED = 128
};

static inline int real_mutex_kind(const pthread_mutex_t *m) {
  return m->__data.__kind;
}

#endif
