/* others.c: semaphores, barriers and joins, as the program calls them. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>

#include "serve/serve.h"
#include "watch/circle.h"
#include "watch/real.h"
#include "watch/wait.h"

#define HERE ((uintptr_t)__builtin_return_address(0))
#define EXPORTED __attribute__((visibility("default")))

/* A call that may be cancelled ends its wait. */
static void other_end(void *ctx) {
  wait_end((struct wait *)ctx, false);
}

/* ---- semaphores: also from signal handlers, so the books are changed by atomic operations only ---- */

static bool semaphore_is_shared(const sem_t *s) {
  return ((const int *)(const void *)s)[2] != 0; /* behind the value, and the number of waiters */
}

static void semaphore_taken(struct books_thread *self, uint32_t lock, uintptr_t at) {
  struct books_lock *l = books_lock(lock);
  atomic_fetch_add_explicit(&l->acquires, 1, memory_order_relaxed);
  unsigned flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
  if (!(flags & BOOKS_IS_BINARY) || (flags & BOOKS_IS_UNKNOWN)) return;
  atomic_store_explicit(&l->taken_at, at, memory_order_relaxed);
  atomic_store_explicit(&l->owner, books_tag(self), memory_order_relaxed);
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

/* Its own tag only this thread puts there. */
static void semaphore_given_back(const struct books_thread *self, struct books_lock *l) {
  uint32_t own = books_tag(self), owner = atomic_load_explicit(&l->owner, memory_order_relaxed);
  bool was_own = owner == own && atomic_compare_exchange_strong(&l->owner, &own, 0);
  uint16_t flag = was_own ? BOOKS_IS_OWNED : BOOKS_IS_UNKNOWN;
  if (!(atomic_load(&l->flags) & flag)) atomic_fetch_or(&l->flags, flag);
  if (!was_own) atomic_store(&l->owner, 0);
}

EXPORTED int sem_post(sem_t *s) {
  real_begin();
  struct books_thread *self = books_self();
  uint32_t lock = self ? books_find(self, s, BOOKS_SEMAPHORE, HERE) : 0;
  if (lock) semaphore_given_back(self, books_lock(lock));
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
