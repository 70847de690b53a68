/* future_stress.c: threads that wait by futures, on all three primitives in turn: blocked on with
 * and without a deadline, polled with wakers that change, dropped in every state, cancelled twice,
 * their memory poisoned as soon as it is the owner's again. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

#define WHOLE VOLT_RWLOCK_WRITER_

static volt_future *new_future(const stress_subject *s, void *object, uint32_t n) {
  volt_future *f = (volt_future *)malloc(sizeof *f);
  STRESS_CHECK(f != NULL);
  memset((void *)f, 0, sizeof *f);
  return s->future(f, object, n);
}

static void drop_future(volt_future *f) {
  memset((void *)f, 0xa5, sizeof *f);
  free(f);
}

static int block_until(const stress_subject *s, void *object, uint32_t n, uint64_t deadline_ns) {
  volt_future *f = new_future(s, object, n);
  int result = volt_future_wait_until(f, deadline_ns);
  STRESS_CHECK(volt_future_poll(f, (volt_waker){NULL, NULL}) == result);
  if (result != VOLT_OK) volt_future_cancel(f);
  drop_future(f);
  return result;
}

static int way_block_on(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  (void)w;
  return block_until(s, object, n, VOLT_NO_DEADLINE);
}

static int way_timed(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  return block_until(s, object, n, volt_deadline_ns(stress_below(w, 20000)));
}

/* One poll, and what its waker owes. *slot: the one registered, NULL before the first poll; a poll
 * with another waker moves the wake there, unless the grant came first. */
static int poll_once(stress_worker *w, volt_future *f, stress_slot **slot) {
  stress_slot *next = *slot && stress_below(w, 2) == 0 ? *slot : stress_any_slot(w);
  int result = volt_future_poll(f, stress_waker(next));
  if (result == VOLT_PENDING) {
    if (*slot) (*slot)->expected -= 1;
    next->expected += 1;
    *slot = next;
  }
  return result;
}

/* Give up a future: the wakes of a grant that came first cannot be foretold, so the slot learns
 * from the waiter, which says who won. */
static void give_up(volt_future *f, stress_slot *slot) {
  volt_future_cancel(f);
  if (slot && volt_waiter_result(&f->waiter) == VOLT_ECANCELED) slot->expected -= 1;
  volt_future_cancel(f);
  STRESS_CHECK(volt_future_poll(f, (volt_waker){NULL, NULL}) == VOLT_ECANCELED);
}

/* Poll until it is ready, or for a while; then look once more, or drop it unpolled. */
static int way_polled(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  volt_future *f = new_future(s, object, n);
  stress_slot *slot = NULL;
  uint32_t patience = stress_below(w, 3) == 0 ? UINT32_MAX : stress_below(w, 32);
  int result = VOLT_PENDING;
  for (; patience > 0 && result == VOLT_PENDING; patience--) {
    result = poll_once(w, f, &slot);
    if (result == VOLT_PENDING) stress_dawdle(w);
    if (patience % 8 == 0) sched_yield();
  }
  if (result == VOLT_PENDING) {
    give_up(f, slot);
    result = VOLT_ECANCELED;
  }
  drop_future(f);
  return result;
}

/* ---- the three primitives ---- */

static void sem_init(void *object, uint32_t total) {
  volt_sem_init((volt_sem *)object, total);
}
static void sem_destroy(void *object) {
  volt_sem_destroy((volt_sem *)object);
}
static void sem_release(void *object, uint32_t n) {
  volt_sem_release((volt_sem *)object, n);
}
static void sem_close(void *object) {
  volt_sem_close((volt_sem *)object);
}
static uint32_t sem_waiters(void *object) {
  return volt_sem_waiters((volt_sem *)object);
}
static uint32_t sem_available(void *object) {
  return volt_sem_available((volt_sem *)object);
}

static int sem_try_acquire(void *object, uint32_t n) {
  return volt_sem_try_acquire((volt_sem *)object, n);
}

static volt_future *sem_future(volt_future *f, void *object, uint32_t n) {
  return volt_sem_acquire_future(f, (volt_sem *)object, n);
}

static void mutex_destroy(void *object) {
  volt_mutex_destroy((volt_mutex *)object);
}
static uint32_t mutex_waiters(void *object) {
  return volt_mutex_waiters((volt_mutex *)object);
}

static void mutex_init(void *object, uint32_t total) {
  STRESS_CHECK(total == 1);
  volt_mutex_init((volt_mutex *)object);
}

static int mutex_try_lock(void *object, uint32_t n) {
  (void)n;
  return volt_mutex_try_lock((volt_mutex *)object);
}

static void mutex_unlock(void *object, uint32_t n) {
  (void)n;
  volt_mutex_unlock((volt_mutex *)object);
}

static uint32_t mutex_available(void *object) {
  return volt_mutex_is_locked((volt_mutex *)object) ? 0 : 1;
}

static volt_future *mutex_future(volt_future *f, void *object, uint32_t n) {
  (void)n;
  return volt_mutex_lock_future(f, (volt_mutex *)object);
}

static void rwlock_destroy(void *object) {
  volt_rwlock_destroy((volt_rwlock *)object);
}
static uint32_t rwlock_waiters(void *object) {
  return volt_rwlock_waiters((volt_rwlock *)object);
}

static void rwlock_init(void *object, uint32_t total) {
  STRESS_CHECK(total == WHOLE);
  volt_rwlock_init((volt_rwlock *)object);
}

static int rwlock_try(void *object, uint32_t n) {
  volt_rwlock *rw = (volt_rwlock *)object;
  return n == WHOLE ? volt_rwlock_try_write(rw) : volt_rwlock_try_read(rw);
}

static void rwlock_unlock(void *object, uint32_t n) {
  volt_rwlock *rw = (volt_rwlock *)object;
  if (n == WHOLE) {
    volt_rwlock_write_unlock(rw);
  } else {
    volt_rwlock_read_unlock(rw);
  }
}

static uint32_t rwlock_available(void *object) {
  if (rwlock_try(object, WHOLE) != VOLT_OK) return 0;
  rwlock_unlock(object, WHOLE);
  return WHOLE;
}

static volt_future *rwlock_future(volt_future *f, void *object, uint32_t n) {
  volt_rwlock *rw = (volt_rwlock *)object;
  return n == WHOLE ? volt_rwlock_write_future(f, rw) : volt_rwlock_read_future(f, rw);
}

static const stress_named_way ways[] = {
    {"block_on", way_block_on},
    {"block_on with a deadline", way_timed},
    {"polled", way_polled},
    {"polled", way_polled},
};
static const uint32_t sem_totals[] = {1, 3, 8};
static const uint32_t mutex_totals[] = {1};
static const uint32_t rwlock_totals[] = {WHOLE};

#define WAYS .ways = ways, .way_count = sizeof ways / sizeof *ways
static const stress_subject subjects[] = {
    {.bytes = sizeof(volt_sem),
     .init = sem_init,
     .destroy = sem_destroy,
     .try_acquire = sem_try_acquire,
     .release = sem_release,
     .close = sem_close,
     .available = sem_available,
     .waiters = sem_waiters,
     .future = sem_future,
     .totals = sem_totals,
     .total_count = 3,
     .divisible = true,
     WAYS},
    {.bytes = sizeof(volt_mutex),
     .init = mutex_init,
     .destroy = mutex_destroy,
     .try_acquire = mutex_try_lock,
     .release = mutex_unlock,
     .available = mutex_available,
     .waiters = mutex_waiters,
     .future = mutex_future,
     .totals = mutex_totals,
     .total_count = 1,
     WAYS},
    {.bytes = sizeof(volt_rwlock),
     .init = rwlock_init,
     .destroy = rwlock_destroy,
     .try_acquire = rwlock_try,
     .release = rwlock_unlock,
     .available = rwlock_available,
     .waiters = rwlock_waiters,
     .future = rwlock_future,
     .totals = rwlock_totals,
     .total_count = 1,
     WAYS},
};

int main(void) {
  stress_begin("future (semaphore, mutex, rwlock)", "some", "all of it");
  for (unsigned turn = 0; stress_time_left(); turn++) stress_rounds(&subjects[turn % 3], turn / 3);
  return stress_end();
}
