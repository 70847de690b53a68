/* once_stress.c: threads that want something done once, and one of them does it, or fails, and the
 * next one tries: by call, blocking, with deadlines, by futures that are dropped, by waiters that
 * give up. Each time it is done exactly once, and everybody sees it. Between the times they meet at
 * a barrier. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static struct {
  volt_once once;
  volt_barrier barrier;
  uint64_t value; /* what is done; not atomic: the once must do */
  uint64_t tries; /* by whoever has the turn; not atomic */
  bool over;
} shared;

static int do_it(void *arg) {
  stress_worker *w = (stress_worker *)arg;
  shared.tries += 1;
  stress_dawdle(w);
  if (stress_below(w, 3) > 0) return VOLT_ENOMEM;
  shared.value += 1;
  return VOLT_OK;
}

/* It is our turn. Returns whether it is done. */
static bool take_turn(stress_worker *w) {
  if (do_it(w) != VOLT_OK) {
    volt_once_failed(&shared.once);
    return false;
  }
  w->acquired += 1;
  volt_once_done(&shared.once);
  return true;
}

static bool by_call(stress_worker *w) {
  int result = volt_once_call(&shared.once, do_it, w);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ENOMEM);
  return result == VOLT_OK;
}

static bool by_blocking(stress_worker *w) {
  uint64_t deadline_ns = stress_below(w, 2) ? VOLT_NO_DEADLINE : volt_deadline_ns(1000);
  int result = volt_once_begin_until(&shared.once, deadline_ns);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_DONE || result == VOLT_ETIMEDOUT);
  return result == VOLT_OK ? take_turn(w) : result == VOLT_DONE;
}

static bool by_future(stress_worker *w) {
  volt_future *f = (volt_future *)malloc(sizeof *f);
  STRESS_CHECK(f != NULL);
  volt_future_made(volt_once_begin_future(f, &shared.once));
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 50); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, (volt_waker){NULL, NULL});
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* passes its turn on, if nobody has seen that it has it */
  memset((void *)f, 0xa5, sizeof *f);
  free(f);
  return result == VOLT_OK ? take_turn(w) : result == VOLT_DONE;
}

static bool by_waiter(stress_worker *w) {
  volt_waiter *waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  STRESS_CHECK(waiter != NULL);
  stress_slot *slot = stress_any_slot(w);
  int result = volt_once_begin_waiter(&shared.once, waiter, stress_waker(slot));
  if (result == VOLT_PENDING) {
    slot->expected += 1;
    for (uint32_t i = stress_below(w, 50); i > 0; i--) {
      if (volt_once_result(waiter) != VOLT_PENDING) break;
      stress_dawdle(w);
    }
    if (volt_once_cancel(&shared.once, waiter)) slot->expected -= 1;
    result = volt_once_result(waiter);
  }
  memset((void *)waiter, 0xa5, sizeof *waiter);
  free(waiter);
  return result == VOLT_OK ? take_turn(w) : result == VOLT_DONE;
}

static void want_it_done(stress_worker *w) {
  for (bool done = false; !done;) {
    switch (stress_below(w, 4)) {
      case 0: done = by_call(w); break;
      case 1: done = by_blocking(w); break;
      case 2: done = by_future(w); break;
      default: done = by_waiter(w); break;
    }
    w->gave_up += !done;
  }
}

static bool meet(void) {
  return volt_barrier_wait(&shared.barrier) == VOLT_LEADER;
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  while (!shared.over) {
    want_it_done(w);
    STRESS_CHECK(volt_once_is_done(&shared.once) && shared.value == 1);
    if (meet()) {
      STRESS_CHECK(shared.tries > 0 && volt_once_waiters(&shared.once) == 0);
      volt_once_destroy(&shared.once);
      volt_once_init(&shared.once);
      shared.value = 0;
      shared.tries = 0;
      shared.over = stress_stopping();
    }
    (void)meet();
    stress_progress(w, "once");
  }
}

int main(void) {
  stress_begin("once", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    unsigned threads = 2 + turn % (stress_threads() - 1);
    volt_once_init(&shared.once);
    volt_barrier_init(&shared.barrier, threads);
    shared.value = 0;
    shared.over = false;
    stress_round(threads, 20000000, body, NULL);
    volt_barrier_destroy(&shared.barrier);
    volt_once_destroy(&shared.once);
  }
  return stress_end();
}
