/* latch_stress.c: one thread makes a latch for each set of jobs, waits, and frees it; the others
 * count it up and down. It frees it as soon as it is told or finds it open: nobody may touch it
 * afterwards. Now and then it queues more waiters than a batch, some of which give up. What each
 * job has written before it counts down is read without atomics. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { MOST = 80 };

static struct {
  VOLT_ATOMIC(volt_latch *) latch;      /* of the set of jobs that is under way */
  VOLT_ATOMIC(uint64_t) set;            /* which one that is; 0: it is over */
  uint64_t written[STRESS_MAX_THREADS]; /* not atomic: the latch must do */
} shared;

static void job(stress_worker *w, volt_latch *l, uint64_t set) {
  stress_dawdle(w);
  uint32_t more = stress_below(w, 3);
  for (uint32_t i = 0; i < more; i++) volt_latch_add(l, i + 1);
  shared.written[w->index] = set;
  if (more == 0) {
    volt_latch_done(l);
  } else if (stress_below(w, 2)) {
    volt_latch_count_down(l, more == 1 ? 2 : 4);
  } else {
    for (uint32_t i = more == 1 ? 2 : 4; i > 0; i--) volt_latch_done(l);
  }
}

static void work(stress_worker *w) {
  for (uint64_t seen = UINT64_MAX;;) {
    uint64_t set = volt_load_acquire(&shared.set); /* P1: pairs P1 */
    if (set == 0) return;
    if (set == seen) {
      stress_dawdle(w);
      continue;
    }
    seen = set;
    job(w, volt_load_relaxed(&shared.latch), set);
    stress_progress(w, "job");
  }
}

static int wait_by_hand(stress_worker *w, volt_latch *l) {
  volt_future *f = (volt_future *)malloc(sizeof *f);
  STRESS_CHECK(f != NULL);
  volt_future_made(volt_latch_wait_future(f, l));
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 100); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, (volt_waker){NULL, NULL});
    stress_dawdle(w);
  }
  volt_future_cancel(f);
  memset((void *)f, 0xa5, sizeof *f);
  free(f);
  return result == VOLT_OK ? (int)VOLT_OK : (int)VOLT_ETIMEDOUT;
}

static void wait_for(stress_worker *w, volt_latch *l) {
  for (;;) {
    int result;
    switch (stress_below(w, 4)) {
      case 0: result = volt_latch_wait_until(l, VOLT_NO_DEADLINE); break;
      case 1: result = volt_latch_wait_until(l, volt_deadline_ns(stress_below(w, 20000))); break;
      case 2: result = wait_by_hand(w, l); break;
      default: result = volt_latch_try_wait(l); break;
    }
    if (result == VOLT_OK) return;
    STRESS_CHECK(result == VOLT_ETIMEDOUT || result == VOLT_EAGAIN);
    w->gave_up += 1;
  }
}

/* Many waiters of one owner: some leave, the others are all told. Returns whether there were
 * any. */
static bool crowd(stress_worker *w, volt_latch *l) {
  static volt_waiter waiters[MOST];
  static stress_slot *slots[MOST];
  uint32_t count = stress_below(w, 3) == 0 ? stress_below(w, MOST + 1) : 0;
  memset((void *)waiters, 0, sizeof waiters);
  for (uint32_t i = 0; i < count; i++) {
    slots[i] = stress_any_slot(w);
    if (volt_latch_wait_waiter(l, &waiters[i], stress_waker(slots[i])) == VOLT_PENDING) {
      slots[i]->expected += 1;
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    bool leaves = stress_below(w, 3) == 0;
    while (!leaves && volt_waiter_result(&waiters[i]) == VOLT_PENDING) stress_dawdle(w);
    bool was_queued = volt_waiter_result(&waiters[i]) != VOLT_ECANCELED;
    if (volt_latch_cancel(l, &waiters[i]) && was_queued) slots[i]->expected -= 1;
  }
  memset((void *)waiters, 0xa5, sizeof waiters);
  return count > 0;
}

static void make_jobs(stress_worker *w, unsigned workers) {
  static uint64_t sets;
  while (!stress_stopping()) {
    uint64_t set = ++sets;
    volt_latch *l = (volt_latch *)malloc(sizeof *l);
    STRESS_CHECK(l != NULL);
    volt_latch_init(l, workers);
    volt_store_relaxed(&shared.latch, l);
    volt_store_release(&shared.set, set); /* P1 */
    bool many = crowd(w, l);
    wait_for(w, l);
    for (unsigned i = 1; i <= workers; i++) STRESS_CHECK(shared.written[i] == set);
    if (many) volt_latch_destroy(l); /* who opened it may be on the way back to tell more */
    memset((void *)l, 0xa5, sizeof *l);
    free(l);
    w->acquired += 1;
    stress_progress(w, "set of jobs");
  }
  volt_store_release(&shared.set, 0); /* P1 */
}

static void body(stress_worker *w, void *arg) {
  if (w->index == 0) {
    make_jobs(w, *(const unsigned *)arg);
  } else {
    work(w);
  }
}

int main(void) {
  stress_begin("latch", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    unsigned workers = 1 + turn % (stress_threads() - 1);
    volt_store_relaxed(&shared.set, UINT64_MAX); /* none yet */
    stress_round(workers + 1, 20000000, body, &workers);
  }
  return stress_end();
}
