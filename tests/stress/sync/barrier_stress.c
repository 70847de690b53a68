/* barrier_stress.c: threads that go from round to round together. Each arrives several times per
 * round, so that there are more waiters than a batch: as queued waiters, some of which leave and
 * come again, and at last by itself, blocking, with deadlines, or by a future that is dropped and
 * made again. What is written before a round is over is read by all after it, without atomics, and
 * each round has one leader. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { MOST = 16 };

static struct {
  volt_barrier barrier;
  unsigned threads;
  uint32_t each;                      /* arrivals of a thread per round */
  uint64_t round[STRESS_MAX_THREADS]; /* that a thread has come to; not atomic */
  uint64_t led[STRESS_MAX_THREADS];   /* rounds that a thread has led */
  bool over;                          /* written by a leader, before the next round */
} shared;

typedef struct arrival {
  volt_waiter waiter;
  stress_slot *slot;
} arrival;

static bool arrive(stress_worker *w, arrival *a) {
  a->slot = stress_any_slot(w);
  int result = volt_barrier_wait_waiter(&shared.barrier, &a->waiter, stress_waker(a->slot));
  STRESS_CHECK(result == VOLT_PENDING); /* this thread's last one is not there */
  a->slot->expected += 1;
  return stress_below(w, 8) == 0;
}

static void leave(stress_worker *w, arrival *a) {
  STRESS_CHECK(volt_barrier_cancel(&shared.barrier, &a->waiter));
  memset((void *)&a->waiter, 0, sizeof a->waiter);
  a->slot->expected -= 1;
  w->gave_up += 1;
}

static int by_future(stress_worker *w) {
  volt_future *f = (volt_future *)malloc(sizeof *f);
  STRESS_CHECK(f != NULL);
  volt_future_made(volt_barrier_wait_future(f, &shared.barrier));
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 50); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, (volt_waker){NULL, NULL});
    stress_dawdle(w);
  }
  if (result == VOLT_PENDING) {
    volt_future_cancel(f);
    bool was_there = volt_waiter_result(&f->waiter) == VOLT_OK; /* all the same */
    result = was_there ? (int)VOLT_OK : (int)VOLT_ETIMEDOUT;
  }
  memset((void *)f, 0xa5, sizeof *f);
  free(f);
  return result;
}

/* Returns VOLT_OK or VOLT_LEADER. */
static int pass(stress_worker *w) {
  for (;;) {
    int result;
    switch (stress_below(w, 3)) {
      case 0: result = by_future(w); break;
      case 1:
        result = volt_barrier_wait_until(&shared.barrier, volt_deadline_ns(stress_below(w, 50000)));
        break;
      default: result = volt_barrier_wait(&shared.barrier); break;
    }
    if (result != VOLT_ETIMEDOUT) return result;
    w->gave_up += 1;
  }
}

static bool go_together(stress_worker *w) {
  arrival arrivals[MOST];
  memset((void *)arrivals, 0, sizeof arrivals);
  for (uint32_t i = 0; i + 1 < shared.each; i++) {
    while (arrive(w, &arrivals[i])) leave(w, &arrivals[i]);
  }
  int result = pass(w);
  STRESS_CHECK(result == VOLT_OK || result == VOLT_LEADER);
  for (uint32_t i = 0; i + 1 < shared.each; i++) { /* told, or soon */
    STRESS_CHECK(!volt_barrier_cancel(&shared.barrier, &arrivals[i].waiter));
    STRESS_CHECK(volt_waiter_result(&arrivals[i].waiter) == VOLT_OK);
  }
  memset((void *)arrivals, 0xa5, sizeof arrivals);
  shared.led[w->index] += result == VOLT_LEADER;
  w->acquired += 1;
  return result == VOLT_LEADER;
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  for (uint64_t round = 1; !shared.over; round++) {
    shared.round[w->index] = round;
    bool leads = go_together(w);
    for (unsigned i = 0; i < shared.threads; i++) STRESS_CHECK(shared.round[i] == round);
    if (leads) shared.over = stress_stopping();
    (void)go_together(w); /* all have looked */
    stress_progress(w, "pass");
  }
}

int main(void) {
  stress_begin("barrier", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    memset(shared.round, 0, sizeof shared.round);
    memset(shared.led, 0, sizeof shared.led);
    shared.over = false;
    shared.threads = 2 + turn % (stress_threads() - 1);
    shared.each = 1 + turn % MOST;
    volt_barrier_init(&shared.barrier, shared.threads * shared.each);
    stress_round(shared.threads, 20000000, body, NULL);
    uint64_t led = 0;
    for (unsigned i = 0; i < shared.threads; i++) led += shared.led[i];
    STRESS_CHECK(led == 2 * shared.round[0]);
    STRESS_CHECK(volt_barrier_waiters(&shared.barrier) == 0);
    volt_barrier_destroy(&shared.barrier);
  }
  return stress_end();
}
