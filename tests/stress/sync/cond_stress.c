/* cond_stress.c: a small buffer under a mutex, that some threads fill and some empty; they wait on
 * two condition variables in every way there is, most of them without a deadline. Some thread can
 * always go on: if none does, a signal was lost, and the watchdog says so. */
#include <sched.h>
#include <string.h>

#include "harness.h"

enum { PLACES = 3 };

static struct {
  volt_mutex mutex;
  volt_cond not_full;
  volt_cond not_empty;
  uint32_t elements; /* these are guarded by the mutex */
  uint64_t put;
  uint64_t taken;
  bool over;
} shared;

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 100000));
}

static void lock(void) {
  STRESS_CHECK(volt_mutex_lock_until(&shared.mutex, VOLT_NO_DEADLINE) == VOLT_OK);
}

/* A waiter of its own, perhaps with another waker after a while. The mutex is held before and after. */
static void wait_by_hand(stress_worker *w, volt_cond *c) {
  volt_waiter waiter = VOLT_WAITER_INIT;
  stress_slot *slot = stress_any_slot(w);
  stress_slot *other = stress_any_slot(w);
  STRESS_CHECK(volt_cond_wait_waiter(c, &shared.mutex, &waiter, stress_waker(slot)) ==
               VOLT_PENDING);
  stress_dawdle(w);
  bool replaced = stress_below(w, 3) == 0 && volt_cond_set_waker(c, &waiter, stress_waker(other));
  (replaced ? other : slot)->expected += 1;
  while (volt_waiter_result(&waiter) == VOLT_PENDING) sched_yield();
}

/* If it is not the caller's by then, it gives up, and locks again. */
static void wait_or_give_up(stress_worker *w, volt_cond *c) {
  volt_waiter waiter = VOLT_WAITER_INIT;
  stress_slot *slot = stress_any_slot(w);
  STRESS_CHECK(volt_cond_wait_waiter(c, &shared.mutex, &waiter, stress_waker(slot)) ==
               VOLT_PENDING);
  stress_dawdle(w);
  if (volt_cond_cancel(c, &waiter)) {
    w->gave_up += 1;
    memset((void *)&waiter, 0xee, sizeof waiter);
    lock();
  } else {
    slot->expected += 1;
    STRESS_CHECK(volt_waiter_result(&waiter) == VOLT_OK);
  }
}

static void wait_as_future(stress_worker *w, volt_cond *c) {
  volt_future f;
  volt_future_made(volt_cond_wait_future(&f, c, &shared.mutex));
  if (stress_below(w, 2)) {
    stress_dawdle(w);
    volt_future_cancel(&f);
    w->gave_up += 1;
    lock();
  } else if (volt_future_wait_until(&f, soon(w)) != VOLT_OK) {
    w->gave_up += 1;
    lock();
  }
}

static void wait_for(stress_worker *w, volt_cond *c) {
  switch (stress_below(w, 5)) {
    case 0: wait_by_hand(w, c); break;
    case 1: wait_or_give_up(w, c); break;
    case 2: wait_as_future(w, c); break;
    case 3: (void)volt_cond_wait_until(c, &shared.mutex, soon(w)); break;
    default: STRESS_CHECK(volt_cond_wait(c, &shared.mutex) == VOLT_OK);
  }
}

/* The mutex is held; unlock, and signal before or after it, to one or to all. */
static void unlock_and_tell(stress_worker *w, volt_cond *c) {
  bool first = stress_below(w, 2) == 0;
  bool all = stress_below(w, 8) == 0;
  if (!first) volt_mutex_unlock(&shared.mutex);
  if (all) {
    volt_cond_broadcast(c);
  } else {
    volt_cond_signal(c);
  }
  if (first) volt_mutex_unlock(&shared.mutex);
}

/* Returns false when the round is over. */
static bool put(stress_worker *w) {
  lock();
  while (shared.elements == PLACES && !shared.over) wait_for(w, &shared.not_full);
  if (shared.over) {
    volt_mutex_unlock(&shared.mutex);
    return false;
  }
  shared.elements += 1;
  shared.put += 1;
  w->acquired += 1;
  unlock_and_tell(w, &shared.not_empty);
  stress_progress(w, "put");
  return true;
}

static bool take(stress_worker *w) {
  lock();
  while (shared.elements == 0 && !shared.over) wait_for(w, &shared.not_empty);
  if (shared.over) {
    volt_mutex_unlock(&shared.mutex);
    return false;
  }
  shared.elements -= 1;
  shared.taken += 1;
  w->acquired += 1;
  unlock_and_tell(w, &shared.not_full);
  stress_count_entry();
  stress_progress(w, "take");
  return true;
}

static void end_round(void) {
  lock();
  shared.over = true;
  volt_mutex_unlock(&shared.mutex);
  volt_cond_broadcast(&shared.not_full);
  volt_cond_broadcast(&shared.not_empty);
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  bool goes_on = true;
  stress_arm(w, 1, NULL, NULL);
  while (goes_on) {
    goes_on = w->index % 2 ? put(w) : take(w);
    if (stress_below(w, 16) == 0) stress_dawdle(w);
    if (stress_stopping() && goes_on) end_round();
  }
}

static void round_of(unsigned threads) {
  volt_mutex_init(&shared.mutex);
  volt_cond_init(&shared.not_full);
  volt_cond_init(&shared.not_empty);
  shared.elements = 0;
  shared.put = 0;
  shared.taken = 0;
  shared.over = false;
  stress_round(threads, 30000000, body, NULL);
  STRESS_CHECK(shared.put == shared.taken + shared.elements);
  STRESS_CHECK(!volt_mutex_is_locked(&shared.mutex));
  volt_cond_destroy(&shared.not_full);
  volt_cond_destroy(&shared.not_empty);
  volt_mutex_destroy(&shared.mutex);
}

int main(void) {
  stress_begin("condition variable", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    round_of(2 + turn % (stress_threads() - 1));
  }
  return stress_end();
}
