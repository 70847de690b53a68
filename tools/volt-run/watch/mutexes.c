/* mutexes.c: mutexes and condition variables, as the program calls them. glibc's do the work.
 *
 * pthread_mutex_lock() and pthread_mutex_unlock() begin with what most of them are: a thread that is watched, a lock that
 * it finds at once, and gets, and that it gives back as the last one it has taken. All else goes to the functions
 * whose names end in `any`, which ask all questions. */
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

enum { STACK_AFTER_MS = 2 };

/* One of several processes is not watched: its holder may be in another one. */
static bool mutex_is_shared(const pthread_mutex_t *m) {
  return real_mutex_kind(m) & REAL_SHARED;
}

static bool mutex_is_recursive(const pthread_mutex_t *m) {
  return (real_mutex_kind(m) & REAL_KINDS) == REAL_RECURSIVE;
}

/* Who unlocks it, and is not its holder, gets an error. */
static bool mutex_has_owner(const pthread_mutex_t *m) {
  int kind = real_mutex_kind(m);
  return (kind & REAL_KINDS) == REAL_RECURSIVE || (kind & REAL_KINDS) == PTHREAD_MUTEX_ERRORCHECK ||
         (kind & (REAL_ROBUST | REAL_INHERITS | REAL_CEILING));
}

/* The number of a mutex that is watched; 0: it is not. */
static uint32_t mutex_find(struct books_thread *self, const pthread_mutex_t *m, uintptr_t at) {
  return self && !mutex_is_shared(m) ? books_find(self, m, BOOKS_MUTEX, at) : 0;
}

static bool mutex_is_taken(int result) {
  return result == 0 || result == EOWNERDEAD;
}

static int mutex_taken(struct books_thread *self, pthread_mutex_t *m, uint32_t lock, int result,
                       uintptr_t at) {
  if (!mutex_is_taken(result) || held_add_new(self, lock, BOOKS_LOCKS_IT, at)) return result;
  held_add(self, lock, BOOKS_LOCKS_IT, mutex_is_recursive(m), at);
  return result;
}

static int mutex_attempt(void *object, const struct timespec *until) {
  return real.pthread_mutex_clocklock((pthread_mutex_t *)object, CLOCK_MONOTONIC, until);
}

/* Those of priorities know this clock alone. */
static int mutex_attempt_by_priority(void *object, const struct timespec *until) {
  struct timespec now, late;
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock_gettime(CLOCK_REALTIME, &late);
  int64_t left_ns =
      (until->tv_sec - now.tv_sec) * INT64_C(1000000000) + until->tv_nsec - now.tv_nsec;
  int64_t end_ns = late.tv_nsec + (left_ns > 0 ? left_ns : 0);
  late.tv_sec += end_ns / 1000000000;
  late.tv_nsec = end_ns % 1000000000;
  return real.pthread_mutex_timedlock((pthread_mutex_t *)object, &late);
}

/* The stack is taken only if it lasts. glibc's mutex has no queue, so a thread that comes again has lost no place;
 * those of priorities have one, and are waited for at once, unless it looks like a deadlock. */
static int mutex_wait(struct books_thread *self, pthread_mutex_t *m, uint32_t lock, uintptr_t at) {
  bool has_queue = real_mutex_kind(m) & (REAL_INHERITS | REAL_CEILING);
  struct queued q;
  struct wait w;
  int result = serve_queue_mutex(&q, m);
  if (result == EINPROGRESS) return serve_watched_wait(&q, self, lock, BOOKS_LOCKS_IT, at);
  if (result != ENOSYS) return result;
  result = ETIMEDOUT;
  wait_begin(&w, self, lock, BOOKS_LOCKS_IT, at);
  if (!has_queue) {
    uint64_t until_ns = w.since_ns + STACK_AFTER_MS * UINT64_C(1000000);
    const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    result = mutex_attempt(m, &until);
  }
  if (result == ETIMEDOUT) {
    wait_take_stack(&w);
    result = circle_check(&w, has_queue ? mutex_attempt_by_priority : mutex_attempt, m);
    if (result == ETIMEDOUT) result = real.pthread_mutex_lock(m);
  }
  wait_end(&w, mutex_is_taken(result));
  return result;
}

/* Of a thread that holds other locks. */
static APART void mutex_before(struct books_thread *self, const pthread_mutex_t *m, uint32_t lock,
                               uintptr_t at) {
  serve_know_mutex(self, m);
  orders_before(self, lock, BOOKS_LOCKS_IT, at);
}

/* It has been tried. */
static APART int mutex_tried(struct books_thread *self, pthread_mutex_t *m, uint32_t lock,
                             int result, uintptr_t at) {
  if (result == EBUSY) result = mutex_wait(self, m, lock, at);
  return mutex_taken(self, m, lock, result, at);
}

/* One that the thread does not find at once. */
static APART int mutex_lock_any(pthread_mutex_t *m, uintptr_t at) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = mutex_find(self, m, at);
  if (!lock) return real.pthread_mutex_lock(m);
  mutex_before(self, m, lock, at);
  return mutex_tried(self, m, lock, real.pthread_mutex_trylock(m), at);
}

EXPORTED int pthread_mutex_lock(pthread_mutex_t *m) {
  struct books_thread *self = books_at_once;
  if (__builtin_expect(!self || mutex_is_shared(m), 0)) return mutex_lock_any(m, HERE);
  uint32_t lock = *books_cached(self, m);
  if (__builtin_expect(!books_is(lock, m, BOOKS_MUTEX), 0)) return mutex_lock_any(m, HERE);
  uint32_t held = atomic_load_explicit(&self->held_count, memory_order_relaxed);
  if (__builtin_expect(held > 0, 0)) mutex_before(self, m, lock, HERE);
  int result = real.pthread_mutex_trylock(m);
  if (__builtin_expect(result == 0, 1) && held_add_new(self, lock, BOOKS_LOCKS_IT, HERE)) return 0;
  return mutex_tried(self, m, lock, result, HERE);
}

EXPORTED int pthread_mutex_trylock(pthread_mutex_t *m) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = mutex_find(self, m, HERE);
  int result = real.pthread_mutex_trylock(m);
  return lock ? mutex_taken(self, m, lock, result, HERE) : result;
}

static int mutex_real_until(pthread_mutex_t *m, bool by_clock, clockid_t clock,
                            const struct timespec *until) {
  return by_clock ? real.pthread_mutex_clocklock(m, clock, until)
                  : real.pthread_mutex_timedlock(m, until);
}

/* A time that is none is for glibc to refuse. */
static int mutex_wait_until(pthread_mutex_t *m, bool by_clock, clockid_t clock,
                            const struct timespec *until, uintptr_t at) {
  struct books_thread *self = books_self();
  uint32_t lock = mutex_find(self, m, at);
  if (!lock) return mutex_real_until(m, by_clock, clock, until);
  bool is_time = wait_is_time(clock, until);
  int result =
      is_time ? real.pthread_mutex_trylock(m) : mutex_real_until(m, by_clock, clock, until);
  if (result == EBUSY && is_time) {
    struct wait w;
    wait_begin(&w, self, lock, BOOKS_LOCKS_IT | BOOKS_IS_TIMED, at);
    wait_take_stack(&w);
    result = mutex_real_until(m, by_clock, clock, until);
    wait_end(&w, mutex_is_taken(result));
  }
  return mutex_taken(self, m, lock, result, at);
}

EXPORTED int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until) {
  real_begin();
  return mutex_wait_until(m, false, CLOCK_REALTIME, until, HERE);
}

EXPORTED int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
                                     const struct timespec *until) {
  real_begin();
  return mutex_wait_until(m, true, clock, until, HERE);
}

/* Of a plain mutex, which any thread may unlock as far as glibc is concerned. */
static void mutex_check_holder(struct books_thread *self, uint32_t lock, uintptr_t at) {
  if (books_owner(books_lock(lock)) == 0) return; /* it was locked before it was watched */
  wait_note_fault(self, lock, BOOKS_FOREIGN_UNLOCK, at);
  atomic_store(&books_lock(lock)->owner, 0);
}

static APART int mutex_unlock_any(pthread_mutex_t *m, uintptr_t at) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = mutex_find(self, m, at);
  if (!lock) return real.pthread_mutex_unlock(m);
  self->last_condition = 0;
  if (held_remove(self, lock, at) == BOOKS_RUNS && !mutex_has_owner(m))
    mutex_check_holder(self, lock, at);
  return real.pthread_mutex_unlock(m);
}

static APART int mutex_unlock_timed(struct books_thread *self, pthread_mutex_t *m, uintptr_t at) {
  self->last_condition = 0;
  held_end_timed(self, at);
  return real.pthread_mutex_unlock(m);
}

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *m) {
  struct books_thread *self = books_at_once;
  enum held_end end =
      self ? held_remove_last(self, m, BOOKS_MUTEX, BOOKS_LOCKS_IT) : HELD_IS_NOT_LAST;
  if (__builtin_expect(end == HELD_IS_NOT_LAST, 0)) return mutex_unlock_any(m, HERE);
  if (__builtin_expect(end == HELD_IS_TIMED, 0)) return mutex_unlock_timed(self, m, HERE);
  self->last_condition = 0;
  return real.pthread_mutex_unlock(m);
}

EXPORTED int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes) {
  real_begin();
  int result = real.pthread_mutex_init(m, attributes);
  struct books_thread *self = books_self();
  if (result == 0 && self) books_made(self, m, BOOKS_MUTEX, HERE);
  return result;
}

EXPORTED int pthread_mutex_destroy(pthread_mutex_t *m) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = mutex_find(self, m, HERE);
  if (lock) {
    const struct books_lock *l = books_lock(lock);
    if (atomic_load(&l->waiters)) {
      wait_note_fault(self, lock, BOOKS_AWAITED_DESTROY, HERE);
    } else if (books_owner(l)) {
      wait_note_fault(self, lock, BOOKS_HELD_DESTROY, HERE);
    }
  }
  int result = real.pthread_mutex_destroy(m);
  if (result == 0 && lock) books_destroyed(lock);
  return result;
}

REAL_OLD_NAME(pthread_mutex_lock, (pthread_mutex_t *))
REAL_OLD_NAME(pthread_mutex_trylock, (pthread_mutex_t *))
REAL_OLD_NAME(pthread_mutex_unlock, (pthread_mutex_t *))
REAL_OLD_NAME(pthread_mutex_init, (pthread_mutex_t *, const pthread_mutexattr_t *))
REAL_OLD_NAME(pthread_mutex_destroy, (pthread_mutex_t *))

/* ---- condition variables ---- */

struct condition_wait {
  struct wait w;
  pthread_mutex_t *m;
  uint32_t mutex; /* 0: it is not watched */
  uint16_t
      times; /* that it was locked, if all of them are given back; glibc's stays locked but for one */
  uintptr_t at;
};

/* The thread has the mutex again, also if it is cancelled. */
static void condition_end(void *ctx) {
  struct condition_wait *wait = (struct condition_wait *)ctx;
  struct books_thread *self = wait->w.self;
  atomic_store(&self->comes_back_by, 0);
  wait_end(&wait->w, false);
  if (!wait->mutex) return;
  held_add(self, wait->mutex, BOOKS_LOCKS_IT, mutex_is_recursive(wait->m), wait->at);
  if (wait->times > 1) (void)held_set_times(self, wait->mutex, wait->times);
}

enum condition_until { UNTIL_EVER, UNTIL_TIME, UNTIL_CLOCK };

static int condition_real(pthread_cond_t *c, pthread_mutex_t *m, enum condition_until how,
                          clockid_t clock, const struct timespec *until) {
  switch (how) {
    case UNTIL_TIME: return real.pthread_cond_timedwait(c, m, until);
    case UNTIL_CLOCK: return real.pthread_cond_clockwait(c, m, clock, until);
    case UNTIL_EVER: break;
  }
  return real.pthread_cond_wait(c, m);
}

static int condition_wait(pthread_cond_t *c, pthread_mutex_t *m, enum condition_until how,
                          clockid_t clock, const struct timespec *until, uintptr_t at) {
  struct books_thread *self = books_self();
  uint32_t condition = self ? books_find(self, c, BOOKS_CONDITION, at) : 0;
  if (!condition) return condition_real(c, m, how, clock, until);
  struct condition_wait wait = {.m = m, .mutex = mutex_find(self, m, at), .at = at};
  if (wait.mutex && serve_gives_back_all(m)) wait.times = held_set_times(self, wait.mutex, 1);
  if (wait.mutex && held_remove(self, wait.mutex, at) == BOOKS_RUNS) wait.mutex = 0;
  if (wait.mutex) orders_before(self, wait.mutex, BOOKS_LOCKS_IT, at); /* it takes it again */
  unsigned timed = how == UNTIL_EVER ? 0 : BOOKS_IS_TIMED;
  wait_begin(&wait.w, self, condition, BOOKS_AWAITS_IT | timed, at);
  atomic_store(&self->comes_back_by, wait.mutex);
  wait_take_stack(&wait.w);
  struct books_detail *d = books_detail_of(books_lock(condition));
  if (d && self->last_condition == condition) atomic_fetch_add(&d->waits_again, 1);
  int result;
  pthread_cleanup_push(condition_end, &wait);
  result = condition_real(c, m, how, clock, until);
  pthread_cleanup_pop(1);
  self->last_condition = result == 0 ? condition : 0;
  return result;
}

EXPORTED int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
  real_begin();
  return condition_wait(c, m, UNTIL_EVER, 0, NULL, HERE);
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                    const struct timespec *until) {
  real_begin();
  return condition_wait(c, m, UNTIL_TIME, 0, until, HERE);
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                    const struct timespec *until) {
  real_begin();
  return condition_wait(c, m, UNTIL_CLOCK, clock, until, HERE);
}

static void condition_signals(const pthread_cond_t *c, uintptr_t at) {
  struct books_thread *self = books_self();
  uint32_t condition = self ? books_find(self, c, BOOKS_CONDITION, at) : 0;
  struct books_detail *d = condition ? books_detail(condition) : NULL;
  if (!d) return;
  atomic_fetch_add_explicit(&d->signals, 1, memory_order_relaxed);
  if (atomic_load(&books_lock(condition)->waiters) == 0) {
    atomic_fetch_add_explicit(&d->signals_to_none, 1, memory_order_relaxed);
  }
}

EXPORTED int pthread_cond_signal(pthread_cond_t *c) {
  real_begin();
  condition_signals(c, HERE);
  return real.pthread_cond_signal(c);
}

EXPORTED int pthread_cond_broadcast(pthread_cond_t *c) {
  real_begin();
  condition_signals(c, HERE);
  return real.pthread_cond_broadcast(c);
}

EXPORTED int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attributes) {
  real_begin();
  int result = real.pthread_cond_init(c, attributes);
  struct books_thread *self = books_self();
  if (result == 0 && self) books_made(self, c, BOOKS_CONDITION, HERE);
  return result;
}

EXPORTED int pthread_cond_destroy(pthread_cond_t *c) {
  real_begin();
  struct books_thread *self = books_self();
  int result = real.pthread_cond_destroy(c);
  uint32_t condition = self ? books_find(self, c, BOOKS_CONDITION, HERE) : 0;
  if (result == 0 && condition) books_destroyed(condition);
  return result;
}
