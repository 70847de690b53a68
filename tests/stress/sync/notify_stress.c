/* notify_stress.c: some threads put things there and notify one or all, others take them, and wait
 * when there is nothing: as a queued waiter, by futures that are looked at before or after they are
 * polled, with deadlines, and giving up. Whoever puts something waits now and then until all of it
 * is taken: a notification that is lost is seen by the watchdog. Memory is poisoned as soon as it
 * is its owner's again. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static struct {
  volt_notify notify;
  VOLT_ATOMIC(uint64_t) there;
  VOLT_ATOMIC(uint64_t) taken;
  VOLT_ATOMIC(uint64_t) put;
  VOLT_ATOMIC(uint32_t) putting; /* threads that may still put something there */
  bool all;                      /* this round: everybody is notified, always */
} shared;

static bool take(stress_worker *w) {
  uint64_t there = volt_load_relaxed(&shared.there);
  while (there > 0) {
    if (!volt_cas_acq_rel(&shared.there, &there, there - 1)) continue; /* P1: pairs P1 */
    volt_fetch_add_relaxed(&shared.taken, 1);
    w->acquired += 1;
    return true;
  }
  return false;
}

static bool is_over(void) {
  return volt_load_acquire(&shared.putting) == 0; /* P2: pairs P2 */
}

static void put(stress_worker *w) {
  while (!stress_stopping()) {
    for (uint32_t i = stress_below(w, 5); i > 0; i--) {
      volt_fetch_add_release(&shared.there, 1); /* P1 */
      volt_fetch_add_relaxed(&shared.put, 1);
      if (shared.all || stress_below(w, 8) == 0) {
        volt_notify_all(&shared.notify);
      } else {
        volt_notify_one(&shared.notify);
      }
      stress_dawdle(w);
    }
    while (volt_load_relaxed(&shared.there) > 0) stress_dawdle(w);
    stress_progress(w, "put");
  }
  if (volt_fetch_add_acq_rel(&shared.putting, UINT32_MAX) == 1) { /* P2 */
    volt_notify_all(&shared.notify);
  }
}

static uint64_t deadline(stress_worker *w) {
  return stress_below(w, 2) ? VOLT_NO_DEADLINE : volt_deadline_ns(stress_below(w, 50000));
}

/* Registered first. Whatever is found then, or however it ends, the next look is taken. */
static void by_future(stress_worker *w) {
  volt_future *f = (volt_future *)malloc(sizeof *f);
  STRESS_CHECK(f != NULL);
  volt_future_made(volt_notify_wait_future(f, &shared.notify));
  bool polled = !shared.all || stress_below(w, 2);
  int result = polled ? volt_future_poll(f, (volt_waker){NULL, NULL}) : (int)VOLT_PENDING;
  if (result == VOLT_PENDING && !take(w) && !is_over()) {
    result = volt_future_wait_until(f, deadline(w));
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ETIMEDOUT);
    w->gave_up += result != VOLT_OK;
  }
  volt_future_cancel(f); /* passes on what it was given alone */
  memset((void *)f, 0xa5, sizeof *f);
  free(f);
}

static void by_waiter(stress_worker *w) {
  volt_waiter *waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  STRESS_CHECK(waiter != NULL);
  stress_slot *slot = stress_any_slot(w), *other = stress_any_slot(w);
  if (volt_notify_wait_waiter(&shared.notify, waiter, stress_waker(slot)) == VOLT_PENDING) {
    slot->expected += 1;
    uint32_t patience = stress_below(w, 2) ? UINT32_MAX : stress_below(w, 100);
    bool waits = !take(w) && !is_over();
    if (volt_waiter_set_waker(waiter, stress_waker(other))) {
      slot->expected -= 1;
      slot = other;
      slot->expected += 1;
    }
    while (waits && patience-- > 0 && volt_waiter_result(waiter) == VOLT_PENDING) stress_dawdle(w);
    if (volt_notify_cancel(&shared.notify, waiter)) {
      STRESS_CHECK(volt_waiter_result(waiter) == VOLT_ECANCELED);
      slot->expected -= 1;
      w->gave_up += 1;
    } else if (!waits) {
      volt_notify_one(&shared.notify); /* it was of no use here */
    }
  }
  memset((void *)waiter, 0xa5, sizeof *waiter);
  free(waiter);
}

static void take_all(stress_worker *w) {
  for (;;) {
    if (take(w)) {
      stress_progress(w, "take");
    } else if (is_over()) {
      return;
    } else if (stress_below(w, 2)) {
      by_future(w);
    } else {
      by_waiter(w);
    }
  }
}

static void body(stress_worker *w, void *arg) {
  const unsigned *putting = (const unsigned *)arg;
  if (w->index < *putting) {
    put(w);
  } else {
    take_all(w);
  }
}

int main(void) {
  stress_begin("notify", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    unsigned threads = 2 + turn % (stress_threads() - 1);
    unsigned putting = 1 + turn % (threads - 1);
    volt_notify_init(&shared.notify);
    volt_store_relaxed(&shared.putting, putting); /* published by the threads' start */
    shared.all = turn % 3 == 2;
    stress_round(threads, 20000000, body, &putting);
    STRESS_CHECK(volt_load_relaxed(&shared.there) == 0);
    STRESS_CHECK(volt_load_relaxed(&shared.taken) == volt_load_relaxed(&shared.put));
    STRESS_CHECK(volt_notify_waiters(&shared.notify) == 0);
    volt_notify_destroy(&shared.notify);
  }
  return stress_end();
}
