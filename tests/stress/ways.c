/* ways.c: every way to take something: a try, a blocking call, one with a deadline that is so near
 * that the cancel meets the grant, a waiter polled by hand, many waiters at once. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

static int way_try(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  (void)w;
  return s->try_acquire(object, n);
}

static int way_blocking(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  (void)w;
  return s->acquire_until(object, n, VOLT_NO_DEADLINE);
}

static int way_timed(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  uint64_t delay_ns = stress_below(w, 4) == 0 ? 0 : stress_below(w, 20000);
  return s->acquire_until(object, n, volt_deadline_ns(delay_ns));
}

static volt_waiter *new_waiter(stress_worker *w) {
  volt_waiter *waiter = w->spare;
  w->spare = NULL;
  if (!waiter) waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  STRESS_CHECK(waiter != NULL);
  return waiter;
}

/* The waiter's memory is the owner's again: whoever still reads it sees poison, whoever writes it
 * spoils its next use, and the sanitizers see either. */
static void drop_waiter(stress_worker *w, volt_waiter *waiter) {
  memset((void *)waiter, 0xa5, sizeof *waiter);
  if (w->spare || stress_below(w, 2) == 0) {
    free(waiter);
    return;
  }
  memset((void *)waiter, 0, sizeof *waiter);
  w->spare = waiter;
}

/* While a waiter waits, a try of others gets nothing. If one does, the waiter waits no more: it is
 * claimed, and can only be granted. */
static bool overtaken(const stress_subject *s, void *object) {
  if (s->try_acquire(object, 1) != VOLT_OK) return false;
  s->release(object, 1);
  return true;
}

static void replace_waker(stress_worker *w, const stress_subject *s, void *object,
                          volt_waiter *waiter, stress_slot **slot) {
  stress_slot *other = stress_any_slot(w);
  if (!s->set_waker(object, waiter, stress_waker(other))) {
    STRESS_CHECK(volt_waiter_result(waiter) != VOLT_PENDING);
    return;
  }
  (*slot)->expected -= 1;
  other->expected += 1;
  *slot = other;
}

/* Nobody overtakes: while a waiter for everything waits, each thread can only take what it was
 * granted, or stood in the queue for, before; its wakers, too, before (they go three deep). */
static void check_patience(const stress_worker *w, uint32_t n, uint64_t entries) {
  if (n != w->whole) return; /* a part may be claimed for us already, and others take the rest */
  STRESS_CHECK(entries <= 4 * stress_threads());
}

/* Poll a queued waiter until it is granted, or give it up at a random moment. */
static int follow(stress_worker *w, const stress_subject *s, void *object, volt_waiter *waiter,
                  uint32_t n, stress_slot *slot) {
  uint64_t entries_before = stress_entries();
  uint32_t patience = stress_below(w, 4) == 0 ? UINT32_MAX : stress_below(w, 32);
  bool must_be_granted = false;
  for (; patience > 0 && !must_be_granted; patience--) {
    uint64_t entries = stress_entries();
    int result = volt_waiter_result(waiter);
    if (result != VOLT_PENDING) return result;
    check_patience(w, n, entries - entries_before);
    switch (stress_below(w, 8)) {
      case 0: replace_waker(w, s, object, waiter, &slot); break;
      case 1: must_be_granted = overtaken(s, object); break;
      case 2: sched_yield(); break;
      default: stress_dawdle(w); break;
    }
  }
  if (s->cancel(object, waiter)) {
    STRESS_CHECK(!must_be_granted);
    STRESS_CHECK(volt_waiter_result(waiter) == VOLT_ECANCELED);
    slot->expected -= 1;
    return VOLT_ECANCELED;
  }
  STRESS_CHECK(volt_waiter_result(waiter) != VOLT_PENDING);
  return volt_waiter_result(waiter);
}

static int way_polled(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  volt_waiter *waiter = new_waiter(w);
  stress_slot *slot = stress_any_slot(w);
  int result = s->acquire(object, waiter, n, stress_waker(slot));
  if (result == VOLT_PENDING) {
    slot->expected += 1;
    result = follow(w, s, object, waiter, n, slot);
  }
  drop_waiter(w, waiter);
  return result;
}

enum { MANY = 40 }; /* more than one batch of wakes */

/* Poll those that are queued once. What is granted is given back at once: nobody holds and waits.
 * Returns how many are still pending. */
static unsigned poll_many(stress_worker *w, const stress_subject *s, void *object,
                          volt_waiter *waiters, stress_slot **slots) {
  unsigned pending = 0;
  for (unsigned i = 0; i < MANY; i++) {
    if (!slots[i]) continue;
    if (volt_waiter_result(&waiters[i]) == VOLT_PENDING) {
      if (stress_below(w, 64) != 0) {
        pending += 1;
        continue;
      }
      if (s->cancel(object, &waiters[i])) slots[i]->expected -= 1;
    }
    int result = volt_waiter_result(&waiters[i]);
    memset((void *)&waiters[i], 0xa5, sizeof waiters[i]);
    if (result == VOLT_OK) s->release(object, 1);
    slots[i] = NULL;
  }
  return pending;
}

/* Many waiters of one thread in the queue at once, then n taken by a blocking call: behind them,
 * and only after they have gone. */
static int way_behind_many(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  volt_waiter waiters[MANY];
  stress_slot *slots[MANY];
  memset((void *)waiters, 0, sizeof waiters);
  for (unsigned i = 0; i < MANY; i++) {
    slots[i] = stress_any_slot(w);
    int result = s->acquire(object, &waiters[i], 1, stress_waker(slots[i]));
    if (result == VOLT_PENDING) {
      slots[i]->expected += 1;
      continue;
    }
    slots[i] = NULL;
    if (result == VOLT_OK) s->release(object, 1);
  }
  while (poll_many(w, s, object, waiters, slots) > 0) sched_yield();
  return s->acquire_until(object, n, VOLT_NO_DEADLINE);
}

const stress_named_way stress_ways[] = {
    {"try", way_try},
    {"blocking", way_blocking},
    {"blocking", way_blocking},
    {"blocking with a deadline", way_timed},
    {"blocking with a deadline", way_timed},
    {"polled", way_polled},
    {"polled", way_polled},
    {"polled", way_polled},
    {"behind many", way_behind_many},
};
const unsigned stress_way_count = sizeof stress_ways / sizeof *stress_ways;

int stress_take(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  const stress_named_way *way = &s->ways[stress_below(w, s->way_count)];
  stress_progress(w, way->name);
  int result = way->take(w, s, object, n);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_EAGAIN || result == VOLT_ECLOSED ||
               result == VOLT_ETIMEDOUT || result == VOLT_ECANCELED);
  return result;
}

uint32_t stress_pick(stress_worker *w, const stress_subject *s, uint32_t total) {
  if (stress_below(w, 4) == 0) return total;
  if (!s->divisible) return 1;
  return 1 + stress_below(w, total < 4 ? total : 4);
}

void stress_give(stress_worker *w, const stress_subject *s, void *object, uint32_t n) {
  while (s->divisible && n > 1 && stress_below(w, 4) != 0) {
    uint32_t part = 1 + stress_below(w, n - 1);
    s->release(object, part);
    n -= part;
  }
  s->release(object, n);
}
