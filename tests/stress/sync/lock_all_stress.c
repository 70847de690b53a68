/* lock_all_stress.c: threads lock random sets of mutexes and semaphores, in random order, in every way there is, and
 * give up as often as not.
 *
 * The books: what a mutex guards is written by its holder alone, no more of a semaphore is held than it has, and at
 * the end all is free. Two that wait for each other would end the test: no thread would finish an operation. */
#include <string.h>

#include "harness.h"

enum { MUTEXES = 4, SEMS = 2, PERMITS = 3, OBJECTS = MUTEXES + SEMS };

static struct {
  volt_mutex mutexes[MUTEXES];
  volt_sem sems[SEMS];
  uint64_t uses[MUTEXES]; /* guarded by its mutex */
  VOLT_ATOMIC(uint64_t) used;
  VOLT_ATOMIC(uint32_t) held[SEMS];
} shared;

/* A random set, in a random order. Returns how many they are. */
static uint32_t draw_items(stress_worker *w, volt_lockable *items) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < OBJECTS; i++) {
    if (stress_below(w, 2) == 0) continue;
    volt_lockable item = {.mutex = NULL};
    if (i < MUTEXES) {
      item.mutex = &shared.mutexes[i];
    } else {
      item.sem = &shared.sems[i - MUTEXES];
      item.permits = 1 + stress_below(w, PERMITS);
    }
    uint32_t to = stress_below(w, count + 1);
    items[count++] = items[to];
    items[to] = item;
  }
  return count;
}

static void use(stress_worker *w, volt_lockable *items, uint32_t count) {
  uint64_t used = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (items[i].mutex) {
      shared.uses[items[i].mutex - shared.mutexes] += 1;
      used += 1;
    } else {
      VOLT_ATOMIC(uint32_t) *held = &shared.held[items[i].sem - shared.sems];
      STRESS_CHECK(volt_fetch_add_acq_rel(held, items[i].permits) + items[i].permits <= PERMITS);
    }
  }
  (void)volt_fetch_add_relaxed(&shared.used, used); /* a count */
  stress_dawdle(w);
  for (uint32_t i = 0; i < count; i++) {
    if (!items[i].sem) continue;
    (void)volt_fetch_add_acq_rel(&shared.held[items[i].sem - shared.sems], 0 - items[i].permits);
  }
  volt_unlock_all(items, count);
  w->acquired += 1;
}

static int by_hand(stress_worker *w, volt_lockable *items, uint32_t count) {
  static const volt_waker none = {NULL, NULL};
  volt_lock_all_op op;
  volt_future *f = volt_lock_all_future(&op, items, count);
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 64); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, none);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready; else it gives back */
  result = volt_future_poll(f, none);
  memset((void *)&op, 0xa5, sizeof op);
  return result;
}

static int lock_some(stress_worker *w, volt_lockable *items, uint32_t count) {
  switch (stress_below(w, 4)) {
    case 0: return volt_try_lock_all(items, count);
    case 1: return by_hand(w, items, count);
    case 2: return volt_lock_all_until(items, count, volt_deadline_ns(stress_below(w, 50000)));
    default: return volt_lock_all(items, count);
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, 1, NULL, NULL);
  while (!stress_stopping()) {
    volt_lockable items[OBJECTS];
    memset((void *)items, 0, sizeof items);
    uint32_t count = draw_items(w, items);
    int result = lock_some(w, items, count);
    if (result == VOLT_OK) {
      use(w, items, count);
    } else {
      STRESS_CHECK(result == VOLT_EAGAIN || result == VOLT_ECANCELED || result == VOLT_ETIMEDOUT);
      w->gave_up += 1;
    }
    stress_progress(w, "lock_all");
  }
}

static void round_of(unsigned turn) {
  memset((void *)&shared, 0, sizeof shared);
  for (unsigned i = 0; i < MUTEXES; i++) volt_mutex_init_bypass(&shared.mutexes[i], turn % 2 * 8);
  for (unsigned i = 0; i < SEMS; i++) volt_sem_init_bounded(&shared.sems[i], PERMITS);
  stress_round(stress_threads(), 30000000, body, NULL);
  uint64_t uses = 0;
  for (unsigned i = 0; i < MUTEXES; i++) {
    STRESS_CHECK(!volt_mutex_is_locked(&shared.mutexes[i]));
    uses += shared.uses[i];
    volt_mutex_destroy(&shared.mutexes[i]);
  }
  for (unsigned i = 0; i < SEMS; i++) {
    STRESS_CHECK(volt_sem_available(&shared.sems[i]) == PERMITS);
    volt_sem_destroy(&shared.sems[i]);
  }
  STRESS_CHECK(uses == volt_load_relaxed(&shared.used)); /* the threads have ended */
}

int main(void) {
  stress_begin("lock_all", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) round_of(turn);
  return stress_end();
}
