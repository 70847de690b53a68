/* others.c: read-write locks, semaphores, barriers and joins, as the program calls them. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>

#include "serve/serve.h"
#include "watch/circle.h"
#include "watch/orders.h"
#include "watch/real.h"
#include "watch/wait.h"

#define HERE ((uintptr_t)__builtin_return_address(0))
#define EXPORTED __attribute__((visibility("default")))

/* A call that may be cancelled ends its wait. */
static void other_end(void *ctx) {
  wait_end((struct wait *)ctx, false);
}

/* ---- read-write locks ---- */

static uint32_t rwlock_find(struct books_thread *self, const pthread_rwlock_t *l, uintptr_t at) {
  return self && !l->__data.__shared ? books_find(self, l, BOOKS_RWLOCK, at) : 0;
}

static int rwlock_taken(struct books_thread *self, uint32_t lock, enum books_how how, int result,
                        uintptr_t at) {
  if (lock && result == 0) held_add(self, lock, how, how == BOOKS_READS_IT, at);
  return result;
}

static void rwlock_before(struct books_thread *self, const pthread_rwlock_t *l, uint32_t lock,
                          enum books_how how, uintptr_t at) {
  bool prefers = l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  if (prefers && !(atomic_load(&books_lock(lock)->flags) & BOOKS_PREFERS_WRITERS))
    atomic_fetch_or(&books_lock(lock)->flags, BOOKS_PREFERS_WRITERS);
  serve_know_rwlock(self, l);
  orders_before(self, lock, how, at);
}

static int rwlock_attempt_read(void *object, const struct timespec *until) {
  return real.pthread_rwlock_clockrdlock((pthread_rwlock_t *)object, CLOCK_MONOTONIC, until);
}

static int rwlock_attempt_write(void *object, const struct timespec *until) {
  return real.pthread_rwlock_clockwrlock((pthread_rwlock_t *)object, CLOCK_MONOTONIC, until);
}

/* A writer has a place before later readers, which it would lose if it tried again: so its stack is taken
 * first. */
static int rwlock_wait(pthread_rwlock_t *l, enum books_how how, uintptr_t at) {
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, at);
  bool reads = how == BOOKS_READS_IT;
  if (lock) rwlock_before(self, l, lock, how, at);
  int result = reads ? real.pthread_rwlock_tryrdlock(l) : real.pthread_rwlock_trywrlock(l);
  if (result != EBUSY) return rwlock_taken(self, lock, how, result, at);
  if (!lock) return reads ? real.pthread_rwlock_rdlock(l) : real.pthread_rwlock_wrlock(l);
  struct queued q;
  result = serve_queue_rwlock(&q, l, reads);
  if (result == EINPROGRESS) result = serve_watched_wait(&q, self, lock, how, at);
  if (result != ENOSYS) return rwlock_taken(self, lock, how, result, at);
  struct wait w;
  wait_begin(&w, self, lock, how, at);
  wait_take_stack(&w);
  result = circle_check(&w, reads ? rwlock_attempt_read : rwlock_attempt_write, l);
  if (result == ETIMEDOUT)
    result = reads ? real.pthread_rwlock_rdlock(l) : real.pthread_rwlock_wrlock(l);
  wait_end(&w, result == 0);
  return rwlock_taken(self, lock, how, result, at);
}

static int rwlock_real_until(pthread_rwlock_t *l, bool reads, bool by_clock, clockid_t clock,
                             const struct timespec *until) {
  if (by_clock && reads) return real.pthread_rwlock_clockrdlock(l, clock, until);
  if (by_clock) return real.pthread_rwlock_clockwrlock(l, clock, until);
  return reads ? real.pthread_rwlock_timedrdlock(l, until)
               : real.pthread_rwlock_timedwrlock(l, until);
}

/* A time that is none is for glibc to refuse. */
static int rwlock_wait_until(pthread_rwlock_t *l, enum books_how how, bool by_clock,
                             clockid_t clock, const struct timespec *until, uintptr_t at) {
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, at);
  bool reads = how == BOOKS_READS_IT;
  if (!lock || !wait_is_time(clock, until)) {
    return rwlock_taken(self, lock, how, rwlock_real_until(l, reads, by_clock, clock, until), at);
  }
  int result = reads ? real.pthread_rwlock_tryrdlock(l) : real.pthread_rwlock_trywrlock(l);
  if (result == EBUSY) {
    struct wait w;
    wait_begin(&w, self, lock, (unsigned)how | BOOKS_IS_TIMED, at);
    wait_take_stack(&w);
    result = rwlock_real_until(l, reads, by_clock, clock, until);
    wait_end(&w, result == 0);
  }
  return rwlock_taken(self, lock, how, result, at);
}

EXPORTED int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
  real_begin();
  return rwlock_wait(l, BOOKS_READS_IT, HERE);
}

EXPORTED int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
  real_begin();
  return rwlock_wait(l, BOOKS_LOCKS_IT, HERE);
}

EXPORTED int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, HERE);
  return rwlock_taken(self, lock, BOOKS_READS_IT, real.pthread_rwlock_tryrdlock(l), HERE);
}

EXPORTED int pthread_rwlock_trywrlock(pthread_rwlock_t *l) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, HERE);
  return rwlock_taken(self, lock, BOOKS_LOCKS_IT, real.pthread_rwlock_trywrlock(l), HERE);
}

EXPORTED int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until) {
  real_begin();
  return rwlock_wait_until(l, BOOKS_READS_IT, false, CLOCK_REALTIME, until, HERE);
}

EXPORTED int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until) {
  real_begin();
  return rwlock_wait_until(l, BOOKS_LOCKS_IT, false, CLOCK_REALTIME, until, HERE);
}

EXPORTED int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
                                        const struct timespec *until) {
  real_begin();
  return rwlock_wait_until(l, BOOKS_READS_IT, true, clock, until, HERE);
}

EXPORTED int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
                                        const struct timespec *until) {
  real_begin();
  return rwlock_wait_until(l, BOOKS_LOCKS_IT, true, clock, until, HERE);
}

EXPORTED int pthread_rwlock_unlock(pthread_rwlock_t *l) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, HERE);
  if (lock &&
      held_remove(self, lock, HERE) == BOOKS_RUNS) { /* another's, or from before it was watched */
    atomic_fetch_or(&books_lock(lock)->flags, BOOKS_IS_UNKNOWN);
    atomic_store(&books_lock(lock)->owner, 0);
  }
  return real.pthread_rwlock_unlock(l);
}

EXPORTED int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attributes) {
  real_begin();
  int result = real.pthread_rwlock_init(l, attributes);
  struct books_thread *self = books_self();
  if (result == 0 && self) books_made(self, l, BOOKS_RWLOCK, HERE);
  return result;
}

EXPORTED int pthread_rwlock_destroy(pthread_rwlock_t *l) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, HERE);
  int result = real.pthread_rwlock_destroy(l);
  if (result == 0 && lock) books_destroyed(lock);
  return result;
}

REAL_OLD_NAME(pthread_rwlock_rdlock, (pthread_rwlock_t *))
REAL_OLD_NAME(pthread_rwlock_wrlock, (pthread_rwlock_t *))
REAL_OLD_NAME(pthread_rwlock_tryrdlock, (pthread_rwlock_t *))
REAL_OLD_NAME(pthread_rwlock_trywrlock, (pthread_rwlock_t *))
REAL_OLD_NAME(pthread_rwlock_unlock, (pthread_rwlock_t *))
REAL_OLD_NAME(pthread_rwlock_init, (pthread_rwlock_t *, const pthread_rwlockattr_t *))
REAL_OLD_NAME(pthread_rwlock_destroy, (pthread_rwlock_t *))

/* ---- semaphores: also from signal handlers, so the books are changed by atomic operations only ---- */

static bool semaphore_is_shared(const sem_t *s) {
  return ((const int *)(const void *)s)[2] != 0; /* behind the value, and the number of waiters */
}

static void semaphore_taken(struct books_thread *self, uint32_t lock, uintptr_t at) {
  struct books_lock *l = books_lock(lock);
  atomic_fetch_add_explicit(&l->acquires, 1, memory_order_relaxed);
  unsigned flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
  if (!(flags & BOOKS_IS_BINARY) || (flags & BOOKS_IS_UNKNOWN)) return;
  atomic_store(&l->taken_at, at);
  atomic_store(&l->owner, books_tag(self));
}

static void semaphore_unblock(void *before) {
  pthread_sigmask(SIG_SETMASK, (const sigset_t *)before, NULL);
}

/* No signal ends it: sem_wait() would go on after some, which a wait with a time does not. They come before the
 * real call, as if a moment before it. */
static int semaphore_attempt(void *object, const struct timespec *until) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int result;
  pthread_cleanup_push(semaphore_unblock, &before);
  result = real.sem_clockwait((sem_t *)object, CLOCK_MONOTONIC, until) == 0 ? 0 : errno;
  pthread_cleanup_pop(1);
  return result == EINTR ? ETIMEDOUT : result;
}

static int semaphore_real(sem_t *s, clockid_t clock, const struct timespec *until) {
  if (!until) return real.sem_wait(s);
  return clock == CLOCK_REALTIME ? real.sem_timedwait(s, until)
                                 : real.sem_clockwait(s, clock, until);
}

static int semaphore_sleep(struct wait *w, sem_t *s, clockid_t clock,
                           const struct timespec *until) {
  int found = until ? ETIMEDOUT : circle_check(w, semaphore_attempt, s);
  if (found == ETIMEDOUT) return semaphore_real(s, clock, until);
  errno = found;
  return found == 0 ? 0 : -1;
}

/* Returns ENOSYS: it is glibc's; 0, or EINTR. */
static int semaphore_serve(struct books_thread *self, sem_t *s, uint32_t lock, uintptr_t at) {
  struct queued q;
  int result = serve_queue_semaphore(&q, s);
  return result == EINPROGRESS ? serve_watched_wait(&q, self, lock, BOOKS_LOCKS_IT, at) : result;
}

/* until: NULL: for ever. */
static int semaphore_wait(sem_t *s, clockid_t clock, const struct timespec *until, uintptr_t at) {
  struct books_thread *self = books_self();
  uint32_t lock = self ? books_find(self, s, BOOKS_SEMAPHORE, at) : 0;
  if (!lock || (until && !wait_is_time(clock, until))) return semaphore_real(s, clock, until);
  pthread_testcancel(); /* as glibc does before it looks */
  int error = errno;
  int result = real.sem_trywait(s);
  if (result == 0) {
    semaphore_taken(self, lock, at);
    return 0;
  }
  errno = error;
  result = until ? ENOSYS : semaphore_serve(self, s, lock, at);
  if (result != ENOSYS) {
    if (result == 0) semaphore_taken(self, lock, at);
    errno = result == 0 ? error : result;
    return result == 0 ? 0 : -1;
  }
  if (semaphore_is_shared(s)) atomic_fetch_or(&books_lock(lock)->flags, BOOKS_IS_UNKNOWN);
  struct wait w;
  wait_begin(&w, self, lock, BOOKS_LOCKS_IT | (until ? BOOKS_IS_TIMED : 0u), at);
  wait_take_stack(&w);
  pthread_cleanup_push(other_end, &w);
  result = semaphore_sleep(&w, s, clock, until);
  error = errno;
  pthread_cleanup_pop(1);
  if (result == 0) semaphore_taken(self, lock, at);
  errno = error;
  return result;
}

EXPORTED int sem_wait(sem_t *s) {
  real_begin();
  return semaphore_wait(s, CLOCK_REALTIME, NULL, HERE);
}

EXPORTED int sem_timedwait(sem_t *s, const struct timespec *until) {
  real_begin();
  return semaphore_wait(s, CLOCK_REALTIME, until, HERE);
}

EXPORTED int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until) {
  real_begin();
  return semaphore_wait(s, clock, until, HERE);
}

EXPORTED int sem_trywait(sem_t *s) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = self ? books_find(self, s, BOOKS_SEMAPHORE, HERE) : 0;
  int result = real.sem_trywait(s);
  if (result == 0 && lock) semaphore_taken(self, lock, HERE);
  return result;
}

EXPORTED int sem_post(sem_t *s) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = self ? books_find(self, s, BOOKS_SEMAPHORE, HERE) : 0;
  if (lock) {
    struct books_lock *l = books_lock(lock);
    uint32_t own = books_tag(self);
    bool was_own = atomic_compare_exchange_strong(&l->owner, &own, 0);
    atomic_fetch_or(&l->flags, was_own ? BOOKS_IS_OWNED : BOOKS_IS_UNKNOWN);
    if (!was_own) atomic_store(&l->owner, 0);
  }
  return real.sem_post(s);
}

EXPORTED int sem_init(sem_t *s, int shared, unsigned value) {
  real_begin();
  int result = real.sem_init(s, shared, value);
  struct books_thread *self = books_self();
  if (result != 0 || !self) return result;
  books_made(self, s, BOOKS_SEMAPHORE, HERE);
  uint32_t lock = books_find(self, s, BOOKS_SEMAPHORE, HERE);
  if (lock && value == 1 && !shared) atomic_fetch_or(&books_lock(lock)->flags, BOOKS_IS_BINARY);
  return result;
}

EXPORTED int sem_destroy(sem_t *s) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = self ? books_find(self, s, BOOKS_SEMAPHORE, HERE) : 0;
  int result = real.sem_destroy(s);
  if (result == 0 && lock) books_destroyed(lock);
  return result;
}

EXPORTED int sem_getvalue(sem_t *s, int *value) {
  real_begin();
  return real.sem_getvalue(s, value);
}

/* ---- barriers ---- */

EXPORTED int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *attributes,
                                  unsigned count) {
  real_begin();
  return real.pthread_barrier_init(b, attributes, count);
}

EXPORTED int pthread_barrier_destroy(pthread_barrier_t *b) {
  real_begin();
  return real.pthread_barrier_destroy(b);
}

EXPORTED int pthread_barrier_wait(pthread_barrier_t *b) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = self ? books_find(self, b, BOOKS_BARRIER, HERE) : 0;
  if (!lock) return real.pthread_barrier_wait(b);
  struct wait w;
  wait_begin(&w, self, lock, BOOKS_AWAITS_IT, HERE);
  wait_take_stack(&w);
  int result = real.pthread_barrier_wait(b);
  wait_end(&w, false);
  return result;
}

/* ---- joins ---- */

struct join_attempt {
  pthread_t thread;
  void **value;
};

static int join_attempt(void *object, const struct timespec *until) {
  struct join_attempt *a = (struct join_attempt *)object;
  return real.pthread_clockjoin_np(a->thread, a->value, CLOCK_MONOTONIC, until);
}

EXPORTED int pthread_join(pthread_t thread, void **value) {
  real_begin();
  struct books_thread *self = books_self();
  if (!self) return real.pthread_join(thread, value);
  struct join_attempt a = {.thread = thread, .value = value};
  struct wait w;
  int result;
  atomic_store(&self->joins, (uintptr_t)thread);
  wait_begin(&w, self, 0, BOOKS_JOINS, HERE);
  wait_take_stack(&w);
  pthread_cleanup_push(other_end, &w);
  result = circle_check(&w, join_attempt, &a);
  if (result == ETIMEDOUT) result = real.pthread_join(thread, value);
  pthread_cleanup_pop(1);
  if (result == 0) books_joined((uintptr_t)thread);
  return result;
}
