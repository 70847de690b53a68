/* permits_stress.c: crowds larger than a wake batch. Two threads release to a crowd at once,
 * each in several turns, while its owner cancels at random; when every permit is accounted for, the
 * owner destroys and frees the semaphore, though the releases may still have to come back (R7). */
#include <stdlib.h>

#include "harness.h"

enum { CROWD = 100, RELEASERS = 2 };

static struct {
  volt_sem *sem;
  volt_waiter waiters[CROWD];
  VOLT_ATOMIC(uint32_t) wakes;
  uint32_t give[RELEASERS];
  bool over;
  volt_sem go[RELEASERS];
  volt_sem done[RELEASERS];
} crowd;

static void wake(void *ctx) {
  (void)ctx;
  volt_fetch_add_relaxed(&crowd.wakes, 1); /* read when the releases have returned */
}

static void releaser(stress_worker *w) {
  unsigned self = w->index - 1;
  for (;;) {
    STRESS_CHECK(volt_sem_acquire(&crowd.go[self], 1) == VOLT_OK);
    if (crowd.over) return;
    volt_sem_release(crowd.sem, crowd.give[self]);
    volt_sem_release(&crowd.done[self], 1);
    stress_progress(w, "release to a crowd");
  }
}

static void gather(stress_worker *w, uint32_t count) {
  crowd.sem = (volt_sem *)malloc(sizeof *crowd.sem);
  STRESS_CHECK(crowd.sem != NULL);
  volt_sem_init(crowd.sem, 0);
  volt_store_relaxed(&crowd.wakes, 0);
  for (uint32_t i = 0; i < count; i++) {
    volt_waker waker = {wake, NULL};
    STRESS_CHECK(volt_sem_acquire_waiter(crowd.sem, &crowd.waiters[i], 1, waker) == VOLT_PENDING);
  }
  /* one that gives nothing could not be seen to be over */
  crowd.give[0] = 1 + stress_below(w, count - 1);
  crowd.give[1] = count - crowd.give[0];
}

/* Until each has its permit or has given up. Returns how many have one. */
static uint32_t settle(stress_worker *w, uint32_t count) {
  uint32_t pending, granted;
  do {
    volt_waiter *victim = &crowd.waiters[stress_below(w, count)];
    if (stress_below(w, 4) == 0) {
      int want = volt_sem_cancel(crowd.sem, victim) ? VOLT_ECANCELED : volt_waiter_result(victim);
      STRESS_CHECK(volt_waiter_result(victim) == want && want != VOLT_PENDING);
    }
    pending = granted = 0;
    for (uint32_t i = 0; i < count; i++) {
      int result = volt_waiter_result(&crowd.waiters[i]);
      pending += result == VOLT_PENDING ? 1 : 0;
      granted += result == VOLT_OK ? 1 : 0;
    }
    stress_dawdle(w);
  } while (pending > 0);
  return granted;
}

static void one_crowd(stress_worker *w) {
  uint32_t count = 2 + stress_below(w, CROWD - 1);
  gather(w, count);
  for (int i = 0; i < RELEASERS; i++) volt_sem_release(&crowd.go[i], 1);
  uint32_t granted = settle(w, count);
  while (volt_sem_available(crowd.sem) != count - granted) stress_dawdle(w);
  volt_sem_destroy(crowd.sem);
  free(crowd.sem);
  for (int i = 0; i < RELEASERS; i++) {
    STRESS_CHECK(volt_sem_acquire(&crowd.done[i], 1) == VOLT_OK);
  }
  STRESS_CHECK(volt_load_relaxed(&crowd.wakes) == granted);
  w->acquired += granted;
  w->gave_up += count - granted;
  stress_progress(w, "a crowd");
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index > 0) {
    releaser(w);
    return;
  }
  while (!stress_stopping()) one_crowd(w);
  crowd.over = true;
  for (int i = 0; i < RELEASERS; i++) volt_sem_release(&crowd.go[i], 1);
}

int main(void) {
  stress_begin("permits", "permits", NULL);
  while (stress_time_left()) {
    crowd.over = false;
    stress_round(1 + RELEASERS, 50000000, body, NULL);
  }
  return stress_end();
}
