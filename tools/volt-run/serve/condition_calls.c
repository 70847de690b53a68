/* condition_calls.c: condition variables: volt_cond, which moves a waiter to the queue of its mutex.
 *
 * Where the mutex is glibc's (robust, of priorities, shared), the condition has one of ours, its gate: a waiter is
 * queued with the gate held, then gives back its own mutex. The gate is held for that moment, and for the moment in
 * which a waiter is woken. Where the condition is glibc's, and the mutex is not, a mutex of glibc's stands for the
 * program's while the thread waits; signals of such conditions take it, so that none comes between.
 *
 * A thread that waits still uses its mutex, which must not be destroyed meanwhile: it is counted as it gives the mutex
 * back, and until it has it again, by the thread that holds it; in glibc's, where glibc does that itself. */
#define _GNU_SOURCE
#include <errno.h>

#include "serve/calls.h"
#include "serve/serve.h"
#include "watch/kernel.h"

enum { CONDITION_WORDS = sizeof(pthread_cond_t) / sizeof(uint64_t) };

/* As PTHREAD_COND_INITIALIZER leaves it. One of glibc's that is shared never looks like that. */
static bool condition_is_new(const pthread_cond_t *c) {
  const uint64_t *words = (const uint64_t *)(const void *)c;
  for (int i = 1; i < CONDITION_WORDS; i++) {
    if (words[i] != 0) return false;
  }
  uint64_t first = volt_load_relaxed(served_place_of(c, SERVED_CONDITION_PLACE));
  return first == 0 || served_is_mark(first); /* or it is a copy of another one */
}

static struct served *condition_of(const pthread_cond_t *c) {
  struct served *s = served_find(c, SERVED_CONDITION_PLACE);
  if (__builtin_expect(s != NULL, 1)) return s;
  return condition_is_new(c) ? served_begin_life(c, SERVED_CONDITION_PLACE, BOOKS_CONDITION, false)
                             : NULL;
}

/* ---- the mutex ---- */

/* The thread gives it back for a wait. Returns how often it had locked it. */
static uint32_t condition_leaves(struct served *mutex) {
  /* relaxed: it holds the mutex */
  volt_store_relaxed(&mutex->users, volt_load_relaxed(&mutex->users) + 1);
  return mutex->times;
}

/* It has it again, so often. In the child of a fork that a handler has made meanwhile, it is not counted. */
static void condition_has_again(struct served *mutex, uint32_t times) {
  uint32_t users = volt_load_relaxed(&mutex->users); /* as above */
  if (users > 0) volt_store_relaxed(&mutex->users, users - 1);
  mutex->times = times;
}

/* The same of one of glibc's. Returns false: the thread does not hold it. */
static bool condition_leaves_glibcs(pthread_mutex_t *m) {
  bool is_held = m->__data.__owner == kernel_tid();
  if (is_held) m->__data.__nusers++;
  return is_held;
}

/* ---- glibc's condition, our mutex ---- */

static pthread_mutex_t condition_stand_in = PTHREAD_MUTEX_INITIALIZER; /* glibc's, never served */

void served_forked_stand_in(void) {
  (void)glibc.pthread_mutex_init(&condition_stand_in, NULL);
}

struct condition_mixed {
  struct served *mutex;
  pthread_mutex_t *m;
  uint32_t times;
};

static void condition_mixed_back(void *ctx) {
  struct condition_mixed *mixed = (struct condition_mixed *)ctx;
  glibc.pthread_mutex_unlock(&condition_stand_in);
  served_mutex_relock(mixed->mutex);
  condition_has_again(mixed->mutex, mixed->times);
}

static int condition_wait_at_glibc(pthread_cond_t *c, struct condition_mixed *mixed, bool by_clock,
                                   clockid_t clock, const struct timespec *until) {
  int result = served_mutex_check_wait(mixed->mutex, mixed->m);
  if (result != 0) return result;
  served_check_fork();
  mixed->times = condition_leaves(mixed->mutex);
  glibc.pthread_mutex_lock(&condition_stand_in);
  mixed->mutex->times = 1;
  (void)served_pthread_mutex_unlock(mixed->m);
  pthread_cleanup_push(condition_mixed_back, mixed);
  if (!until) {
    result = glibc.pthread_cond_wait(c, &condition_stand_in);
  } else if (by_clock) {
    result = glibc.pthread_cond_clockwait(c, &condition_stand_in, clock, until);
  } else {
    result = glibc.pthread_cond_timedwait(c, &condition_stand_in, until);
  }
  pthread_cleanup_pop(1);
  return result;
}

/* ---- our condition ---- */

struct condition_waits {
  struct queued q;
  struct served *mutex; /* NULL: it is glibc's */
  pthread_mutex_t *m;
  uint32_t times;
  bool is_counted; /* in one of glibc's */
};

static int condition_lock_glibcs(struct condition_waits *w) {
  int result = glibc.pthread_mutex_lock(w->m);
  if (w->is_counted && (result == 0 || result == EOWNERDEAD)) w->m->__data.__nusers--;
  return result;
}

/* The wait is over, and the mutex is not held: it was cancelled, or its deadline has passed. Returns what the lock says:
 * of one of glibc's, the last owner may have died. */
static int condition_take_back(struct condition_waits *w) {
  if (!w->mutex) return condition_lock_glibcs(w);
  served_mutex_relock(w->mutex);
  condition_has_again(w->mutex, w->times);
  return 0;
}

static void condition_back(void *ctx) {
  (void)condition_take_back((struct condition_waits *)ctx);
}

/* Queue the thread, and give back the mutex. Returns 0; or why that is not possible. */
static int condition_enter(struct served *c, struct condition_waits *w) {
  int result = w->mutex ? served_mutex_check_wait(w->mutex, w->m) : 0;
  if (result != 0) return result;
  volt_mutex *gate = w->mutex ? &w->mutex->is.mutex : served_gate(c);
  if (w->mutex) {
    w->times = condition_leaves(w->mutex);
    volt_store_relaxed(&w->mutex->owner, 0); /* before the next one has it */
  } else {
    queued_lock(gate, c, NULL);
  }
  queued_begin(&w->q, c, QUEUED_BY_CANCEL, NULL);
  queued_start(&w->q, NULL, NULL);
  volt_future_made(volt_cond_wait_future(&w->q.future, &c->condition, gate));
  if (w->mutex) return 0;
  w->is_counted = condition_leaves_glibcs(w->m);
  result = glibc.pthread_mutex_unlock(w->m);
  if (result != 0) queued_leave(&w->q);
  return result;
}

/* It was woken, with the mutex, or the gate. */
static int condition_woken(struct served *c, struct condition_waits *w) {
  if (w->mutex) {
    condition_has_again(w->mutex, w->times);
    volt_store_relaxed(&w->mutex->owner, served_self()); /* the lock orders it */
    return 0;
  }
  volt_mutex_unlock(served_gate(c));
  return condition_lock_glibcs(w);
}

static int condition_wait(struct served *c, struct condition_waits *w, clockid_t clock,
                          const struct timespec *until) {
  served_check_fork();
  int result = condition_enter(c, w);
  if (result != 0) return result;
  pthread_cleanup_push(condition_back, w);
  result = queued_poll(&w->q);
  if (result == EINPROGRESS) result = queued_wait(&w->q, clock, until);
  pthread_cleanup_pop(0);
  int locked = result == 0 ? condition_woken(c, w) : condition_take_back(w);
  if (result == ECHILD) result = 0; /* it is woken for nothing */
  return locked != 0 ? locked : result;
}

/* by_clock: clock is the program's; else it is that of the condition. */
static int condition_wait_any(pthread_cond_t *c, pthread_mutex_t *m, bool by_clock, clockid_t clock,
                              const struct timespec *until) {
  struct served *s = condition_of(c);
  if (s) {
    if (!by_clock) clock = s->clock;
    if (until && queued_check_time(clock, until) != 0) return EINVAL;
    struct condition_waits w;
    w.mutex = served_of_mutex(m);
    w.m = m;
    return condition_wait(s, &w, clock, until);
  }
  struct condition_mixed mixed = {.mutex = served_of_mutex(m), .m = m};
  if (mixed.mutex) return condition_wait_at_glibc(c, &mixed, by_clock, clock, until);
  if (!until) return glibc.pthread_cond_wait(c, m);
  return by_clock ? glibc.pthread_cond_clockwait(c, m, clock, until)
                  : glibc.pthread_cond_timedwait(c, m, until);
}

int served_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
  return condition_wait_any(c, m, false, CLOCK_MONOTONIC, NULL);
}

int served_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until) {
  return condition_wait_any(c, m, false, CLOCK_MONOTONIC, until);
}

int served_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                  const struct timespec *until) {
  return condition_wait_any(c, m, true, clock, until);
}

/* ---- signals ---- */

static int condition_signal(struct served *s, void (*signals)(volt_cond *)) {
  int state;
  if (!served_is_awaited(&s->condition.queue)) return 0;
  served_check_fork();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  signals(&s->condition);
  pthread_setcancelstate(state, &state);
  return 0;
}

static int condition_signal_glibcs(pthread_cond_t *c, int (*signals)(pthread_cond_t *)) {
  served_check_fork();
  glibc.pthread_mutex_lock(&condition_stand_in);
  int result = signals(c);
  glibc.pthread_mutex_unlock(&condition_stand_in);
  return result;
}

int served_pthread_cond_signal(pthread_cond_t *c) {
  struct served *s = condition_of(c);
  return s ? condition_signal(s, volt_cond_signal)
           : condition_signal_glibcs(c, glibc.pthread_cond_signal);
}

int served_pthread_cond_broadcast(pthread_cond_t *c) {
  struct served *s = condition_of(c);
  return s ? condition_signal(s, volt_cond_broadcast)
           : condition_signal_glibcs(c, glibc.pthread_cond_broadcast);
}

/* ---- its life ---- */

int served_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attributes) {
  int shared = PTHREAD_PROCESS_PRIVATE;
  clockid_t clock = CLOCK_REALTIME;
  int result = glibc.pthread_cond_init(c, attributes);
  if (attributes) {
    (void)pthread_condattr_getpshared(attributes, &shared);
    (void)pthread_condattr_getclock(attributes, &clock);
  }
  if (result != 0 || shared != PTHREAD_PROCESS_PRIVATE) return result;
  uint64_t kept[CONDITION_WORDS];
  memcpy(kept, c, sizeof kept); /* as glibc wants it, if there is no room */
  memset(c, 0, sizeof *c);
  struct served *s = served_begin_life(c, SERVED_CONDITION_PLACE, BOOKS_CONDITION, true);
  if (s) {
    s->clock = (uint8_t)clock;
  } else {
    memcpy(c, kept, sizeof kept);
  }
  return 0;
}

/* One that is waiting for its mutex does not use the condition any more. */
int served_pthread_cond_destroy(pthread_cond_t *c) {
  struct served *s = served_find(c, SERVED_CONDITION_PLACE);
  if (!s) return condition_is_new(c) ? 0 : glibc.pthread_cond_destroy(c);
  served_check_fork();
  if (volt_cond_waiters(&s->condition) > 0) return EBUSY;
  served_end_life(c, SERVED_CONDITION_PLACE);
  return 0;
}
