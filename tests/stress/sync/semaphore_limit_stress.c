/* semaphore_limit_stress.c: permits are taken, drained, added and all asked for while the limit
 * moves up and down. In the end all that is left is in the pool, as many as the limit says and those
 * beside it. Every other round has a bounded semaphore, with none beside it: its check of each release
 * never aborts. */
#include <sched.h>
#include <string.h>

#include "harness.h"

enum { LIMIT = 6 };

static struct {
  volt_sem sem;
  bool bounded;
  VOLT_ATOMIC(uint32_t) beside; /* permits that were released beside the limit */
} shared;

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 100000));
}

static void use(stress_worker *w, uint32_t n) {
  stress_dawdle(w);
  w->acquired += 1;
  volt_sem_release(&shared.sem, n);
}

static void take(stress_worker *w) {
  uint32_t n = 1 + stress_below(w, 3);
  if (volt_sem_acquire_until(&shared.sem, n, soon(w)) == VOLT_OK) {
    use(w, n);
  } else {
    w->gave_up += 1;
  }
}

/* All, by hand, by a blocking call, or as a future that may be dropped. */
static void take_all(stress_worker *w) {
  volt_waiter waiter = VOLT_WAITER_INIT;
  stress_slot *slot = stress_any_slot(w);
  int result = volt_sem_acquire_all_waiter(&shared.sem, &waiter, stress_waker(slot));
  if (result == VOLT_PENDING) {
    stress_dawdle(w);
    if (volt_sem_cancel(&shared.sem, &waiter)) {
      w->gave_up += 1;
      return;
    }
    slot->expected += 1;
  }
  use(w, volt_sem_taken(&waiter));
}

static void take_all_as_future(stress_worker *w) {
  volt_future f;
  volt_future_made(volt_sem_acquire_all_future(&f, &shared.sem));
  if (stress_below(w, 2)) {
    static const volt_waker nobody = {NULL, NULL};
    (void)volt_future_poll(&f, nobody);
    stress_dawdle(w);
    if (volt_future_poll(&f, nobody) == VOLT_OK) use(w, volt_sem_future_taken(&f));
    volt_future_cancel(&f);
  } else if (volt_future_wait_until(&f, soon(w)) == VOLT_OK) {
    use(w, volt_sem_future_taken(&f));
  } else {
    w->gave_up += 1;
  }
}

/* One more, beside the limit; and one that is never released, if it can be had. */
static void add_one(stress_worker *w) {
  if (shared.bounded) { /* aborts there */
    (void)volt_sem_forget_up_to(&shared.sem, 1);
    return;
  }
  volt_sem_release(&shared.sem, 1); /* beside the limit */
  (void)volt_fetch_add_relaxed(&shared.beside, 1);
  if (volt_sem_acquire_until(&shared.sem, 1, soon(w)) != VOLT_OK) return;
  (void)volt_fetch_add_relaxed(&shared.beside, 0u - 1); /* held, and never released */
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, LIMIT, NULL, NULL);
  while (!stress_stopping()) {
    switch (stress_below(w, 10)) {
      case 0: volt_sem_set_limit(&shared.sem, stress_below(w, LIMIT + 1)); break;
      case 1: take_all(w); break;
      case 2: take_all_as_future(w); break;
      case 3: add_one(w); break;
      case 4: use(w, volt_sem_drain(&shared.sem)); break;
      case 5: volt_sem_set_limit(&shared.sem, LIMIT); break;
      default: take(w);
    }
    stress_count_entry();
    stress_progress(w, "limit");
  }
}

static void round_of(unsigned threads, bool bounded) {
  shared.bounded = bounded; /* published by the threads' start, as what follows */
  if (bounded) {
    volt_sem_init_bounded(&shared.sem, LIMIT);
  } else {
    volt_sem_init(&shared.sem, LIMIT);
  }
  volt_store_relaxed(&shared.beside, 0); /* published by the threads' start */
  stress_round(threads, 10000000, body, NULL);
  uint32_t limit = volt_sem_limit(&shared.sem);
  STRESS_CHECK(volt_sem_available(&shared.sem) == limit + volt_load_relaxed(&shared.beside));
  STRESS_CHECK(volt_sem_excess(&shared.sem) == 0 && volt_sem_waiters(&shared.sem) == 0);
  uint32_t taken = 0;
  STRESS_CHECK(volt_sem_acquire_all(&shared.sem, &taken) == VOLT_OK);
  STRESS_CHECK(taken == limit);
  volt_sem_forget(&shared.sem, taken);
  STRESS_CHECK(volt_sem_limit(&shared.sem) == 0);
  volt_sem_destroy(&shared.sem);
}

int main(void) {
  stress_begin("semaphore with a limit that changes", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    round_of(2 + turn / 2 % (stress_threads() - 1), turn % 2 != 0);
  }
  return stress_end();
}
