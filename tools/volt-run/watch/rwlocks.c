/* rwlocks.c: read-write locks, as the program calls them. glibc's do the work. As with mutexes, the calls begin with what most
 * of them are: of a lock that the thread finds at once, and gets. */
#define _GNU_SOURCE
#include <errno.h>

#include "serve/serve.h"
#include "watch/circle.h"
#include "watch/orders.h"
#include "watch/real.h"
#include "watch/wait.h"

#define HERE ((uintptr_t)__builtin_return_address(0))
#define EXPORTED __attribute__((visibility("default")))
/* What is seldom: in a function of its own, so that the others save no register for it. */
#define APART __attribute__((noinline))

static uint32_t rwlock_find(struct books_thread *self, const pthread_rwlock_t *l, uintptr_t at) {
  return self && !l->__data.__shared ? books_find(self, l, BOOKS_RWLOCK, at) : 0;
}

static int rwlock_taken(struct books_thread *self, uint32_t lock, enum books_how how, int result,
                        uintptr_t at) {
  if (!lock || result != 0 || held_add_new(self, lock, how, at)) return result;
  held_add(self, lock, how, how == BOOKS_READS_IT, at);
  return result;
}

/* Whether it prefers writers, and the books do not know it yet. */
static bool rwlock_is_news(const pthread_rwlock_t *l, uint32_t lock) {
  return l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP &&
         !(atomic_load(&books_lock(lock)->flags) & BOOKS_PREFERS_WRITERS);
}

static void rwlock_before(struct books_thread *self, const pthread_rwlock_t *l, uint32_t lock,
                          enum books_how how, uintptr_t at) {
  if (rwlock_is_news(l, lock)) atomic_fetch_or(&books_lock(lock)->flags, BOOKS_PREFERS_WRITERS);
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
static int rwlock_wait(struct books_thread *self, pthread_rwlock_t *l, uint32_t lock,
                       enum books_how how, uintptr_t at) {
  bool reads = how == BOOKS_READS_IT;
  struct queued q;
  int result = serve_queue_rwlock(&q, l, reads);
  if (result == EINPROGRESS) result = serve_watched_wait(&q, self, lock, how, at);
  if (result != ENOSYS) return result;
  struct wait w;
  wait_begin(&w, self, lock, how, at);
  wait_take_stack(&w);
  result = circle_check(&w, reads ? rwlock_attempt_read : rwlock_attempt_write, l);
  if (result == ETIMEDOUT)
    result = reads ? real.pthread_rwlock_rdlock(l) : real.pthread_rwlock_wrlock(l);
  wait_end(&w, result == 0);
  return result;
}

/* It has been tried. */
static APART int rwlock_tried(struct books_thread *self, pthread_rwlock_t *l, uint32_t lock,
                              enum books_how how, int result, uintptr_t at) {
  if (result == EBUSY) result = rwlock_wait(self, l, lock, how, at);
  return rwlock_taken(self, lock, how, result, at);
}

static APART int rwlock_lock_any(pthread_rwlock_t *l, enum books_how how, uintptr_t at) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, at);
  bool reads = how == BOOKS_READS_IT;
  if (!lock) return reads ? real.pthread_rwlock_rdlock(l) : real.pthread_rwlock_wrlock(l);
  rwlock_before(self, l, lock, how, at);
  int result = reads ? real.pthread_rwlock_tryrdlock(l) : real.pthread_rwlock_trywrlock(l);
  return rwlock_tried(self, l, lock, how, result, at);
}

/* Its number, if the thread holds nothing and finds it at once, and there is no news of it; else 0. */
static inline uint32_t rwlock_at_once(struct books_thread *self, const pthread_rwlock_t *l) {
  if (!self || l->__data.__shared) return 0;
  uint32_t lock = *books_cached(self, l);
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  return books_is(lock, l, BOOKS_RWLOCK) && held == 0 && !rwlock_is_news(l, lock) ? lock : 0;
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
  struct books_thread *self = books_at_once;
  uint32_t lock = rwlock_at_once(self, l);
  if (__builtin_expect(lock == 0, 0)) return rwlock_lock_any(l, BOOKS_READS_IT, HERE);
  int result = real.pthread_rwlock_tryrdlock(l);
  bool is_noted = result == 0 && held_add_new(self, lock, BOOKS_READS_IT, HERE);
  return __builtin_expect(is_noted, 1) ? 0
                                       : rwlock_tried(self, l, lock, BOOKS_READS_IT, result, HERE);
}

EXPORTED int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
  struct books_thread *self = books_at_once;
  uint32_t lock = rwlock_at_once(self, l);
  if (__builtin_expect(lock == 0, 0)) return rwlock_lock_any(l, BOOKS_LOCKS_IT, HERE);
  int result = real.pthread_rwlock_trywrlock(l);
  bool is_noted = result == 0 && held_add_new(self, lock, BOOKS_LOCKS_IT, HERE);
  return __builtin_expect(is_noted, 1) ? 0
                                       : rwlock_tried(self, l, lock, BOOKS_LOCKS_IT, result, HERE);
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

static APART int rwlock_unlock_any(pthread_rwlock_t *l, uintptr_t at) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = rwlock_find(self, l, at);
  if (lock &&
      held_remove(self, lock, at) == BOOKS_RUNS) { /* another's, or from before it was watched */
    atomic_fetch_or(&books_lock(lock)->flags, BOOKS_IS_UNKNOWN);
    atomic_store(&books_lock(lock)->owner, 0);
  }
  return real.pthread_rwlock_unlock(l);
}

EXPORTED int pthread_rwlock_unlock(pthread_rwlock_t *l) {
  struct books_thread *self = books_at_once;
  bool has_ended =
      self && (held_remove_last(self, l, BOOKS_RWLOCK, BOOKS_READS_IT) == HELD_HAS_ENDED ||
               held_remove_last(self, l, BOOKS_RWLOCK, BOOKS_LOCKS_IT) == HELD_HAS_ENDED);
  return __builtin_expect(has_ended, 1) ? real.pthread_rwlock_unlock(l)
                                        : rwlock_unlock_any(l, HERE);
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
