/* mutex_calls.c: mutexes: volt_mutex, with the owner and the count of glibc's kinds on top. */
#define _GNU_SOURCE
#include <errno.h>

#include "serve/calls.h"
#include "serve/serve.h"

/* These stay glibc's. */
static bool mutex_is_glibcs(const pthread_mutex_t *m) {
  return real_mutex_kind(m) & (REAL_ROBUST | REAL_INHERITS | REAL_CEILING | REAL_SHARED);
}

static bool mutex_is_of(const pthread_mutex_t *m, int kind) {
  return (real_mutex_kind(m) & REAL_KINDS) == kind;
}

struct served *served_of_mutex(const pthread_mutex_t *m) {
  if (__builtin_expect(mutex_is_glibcs(m), 0)) return NULL;
  struct served *s = served_find(m, SERVED_MUTEX_PLACE);
  return __builtin_expect(s != NULL, 1)
             ? s
             : served_begin_life(m, SERVED_MUTEX_PLACE, BOOKS_MUTEX, false);
}

static bool mutex_is_mine(const struct served *s) {
  return volt_load_relaxed(&s->owner) == served_self(); /* only this thread writes that */
}

static void mutex_taken_by_me(struct served *s) {
  s->times = 1;
  volt_store_relaxed(&s->owner, served_self()); /* the lock orders it */
}

static int mutex_lock_again(struct served *s) {
  if (s->times == UINT32_MAX) return EAGAIN;
  s->times++;
  return 0;
}

int served_pthread_mutex_trylock(pthread_mutex_t *m) {
  struct served *s = served_of_mutex(m);
  if (!s) return glibc.pthread_mutex_trylock(m);
  if (mutex_is_of(m, REAL_RECURSIVE) && mutex_is_mine(s)) return mutex_lock_again(s);
  bool has_it = volt_mutex_try_lock(&s->is.mutex) == VOLT_OK;
  if (!has_it && served_has_forked()) has_it = volt_mutex_try_lock(&s->is.mutex) == VOLT_OK;
  if (!has_it) return EBUSY;
  mutex_taken_by_me(s);
  return 0;
}

static void mutex_pause(unsigned count) {
  for (unsigned i = 0; i < count; i++) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
  }
}

/* Try for a microsecond or two, while none waits: so it overtakes none. Once threads wait, each of them gets the mutex
 * only when it has woken up, which takes longer than most holds. */
static bool mutex_spin(struct served *s) {
  enum { LONGEST = 32 };
  for (unsigned count = 1; count <= LONGEST; count *= 2) {
    if (served_is_awaited(&s->is.queue)) return false;
    if (volt_mutex_try_lock(&s->is.mutex) == VOLT_OK) return true;
    mutex_pause(count);
  }
  return false;
}

static int mutex_queue(struct queued *q, struct served *s, const pthread_mutex_t *m) {
  if (mutex_is_of(m, PTHREAD_MUTEX_ERRORCHECK) && mutex_is_mine(s)) return EDEADLK;
  served_check_fork();
  if (mutex_spin(s)) {
    mutex_taken_by_me(s);
    return 0;
  }
  queued_begin(q, s, 0, mutex_taken_by_me);
  queued_start(q, queued_for_mutex, &s->is.mutex);
  return queued_poll(q);
}

void serve_begin_mutex(const pthread_mutex_t *m) {
  (void)served_of_mutex(m);
}

bool serve_gives_back_all(const pthread_mutex_t *m) {
  return served_objects && served_of_mutex(m) != NULL;
}

int serve_queue_mutex(struct queued *q, pthread_mutex_t *m) {
  struct served *s = served_objects ? served_of_mutex(m) : NULL;
  return s ? mutex_queue(q, s, m) : ENOSYS;
}

void served_mutex_relock(struct served *s) {
  queued_lock(&s->is.mutex, s, mutex_taken_by_me);
}

int served_pthread_mutex_lock(pthread_mutex_t *m) {
  struct served *s = served_of_mutex(m);
  if (!s) return glibc.pthread_mutex_lock(m);
  int result = served_pthread_mutex_trylock(m);
  if (result != EBUSY) return result;
  struct queued q;
  result = mutex_queue(&q, s, m);
  return result == EINPROGRESS ? queued_wait(&q, CLOCK_MONOTONIC, NULL) : result;
}

/* It has the result of the try. */
static int mutex_lock_until(pthread_mutex_t *m, int result, clockid_t clock,
                            const struct timespec *until) {
  if (result != EBUSY) return result;
  if (queued_check_time(clock, until) != 0) return EINVAL;
  struct queued q;
  result = mutex_queue(&q, served_of_mutex(m), m);
  return result == EINPROGRESS ? queued_wait(&q, clock, until) : result;
}

int served_pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until) {
  if (!served_of_mutex(m)) return glibc.pthread_mutex_timedlock(m, until);
  return mutex_lock_until(m, served_pthread_mutex_trylock(m), CLOCK_REALTIME, until);
}

int served_pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
                                   const struct timespec *until) {
  if (!served_of_mutex(m)) return glibc.pthread_mutex_clocklock(m, clock, until);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  return mutex_lock_until(m, served_pthread_mutex_trylock(m), clock, until);
}

/* Threads wait for it, or are about to. */
static void mutex_hand_over(struct served *s) {
  int state;
  served_check_fork();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  volt_store_relaxed(&s->owner, 0); /* before the next one has it */
  if (volt_mutex_is_locked(&s->is.mutex)) volt_mutex_unlock(&s->is.mutex);
  pthread_setcancelstate(state, &state);
}

int served_pthread_mutex_unlock(pthread_mutex_t *m) {
  struct served *s = served_of_mutex(m);
  if (!s) return glibc.pthread_mutex_unlock(m);
  bool is_plain = !mutex_is_of(m, REAL_RECURSIVE) && !mutex_is_of(m, PTHREAD_MUTEX_ERRORCHECK);
  if (!is_plain && !mutex_is_mine(s)) return EPERM;
  if (mutex_is_of(m, REAL_RECURSIVE) && --s->times > 0) return 0;
  if (served_is_awaited(&s->is.queue)) {
    mutex_hand_over(s);
  } else {
    volt_store_relaxed(&s->owner, 0); /* before the next one has it */
    if (volt_mutex_is_locked(&s->is.mutex)) volt_mutex_unlock(&s->is.mutex);
  }
  return 0;
}

int served_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes) {
  if (served_is_in_use(m, SERVED_MUTEX_PLACE)) return EBUSY;
  int result = glibc.pthread_mutex_init(m, attributes);
  if (result == 0 && !mutex_is_glibcs(m))
    (void)served_begin_life(m, SERVED_MUTEX_PLACE, BOOKS_MUTEX, true);
  return result;
}

int served_pthread_mutex_destroy(pthread_mutex_t *m) {
  struct served *s = mutex_is_glibcs(m) ? NULL : served_find(m, SERVED_MUTEX_PLACE);
  if (s && (volt_mutex_is_locked(&s->is.mutex) || served_is_awaited(&s->is.queue))) return EBUSY;
  if (s && volt_load_relaxed(&s->users) > 0) return EBUSY; /* as glibc looks: it orders nothing */
  if (s) served_end_life(m, SERVED_MUTEX_PLACE);
  return glibc.pthread_mutex_destroy(m);
}

int served_mutex_check_wait(const struct served *s, const pthread_mutex_t *m) {
  bool is_plain = !mutex_is_of(m, REAL_RECURSIVE) && !mutex_is_of(m, PTHREAD_MUTEX_ERRORCHECK);
  if (!is_plain && !mutex_is_mine(s)) return EPERM;
  return volt_mutex_is_locked(&s->is.mutex) ? 0 : EPERM;
}
