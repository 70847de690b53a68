/* budget_stress.c: threads and random requests on one budget of three kinds, whose limits change. A request is made in every
 * way there is, given up as often as not, released in parts; waiters and what they ask for are on the heap, and
 * poisoned when they are their owner's again.
 *
 * The books: no more of a kind is held than the highest limit it had; at the end nothing is held; and the oldest waiter
 * was passed by no more than the bypass. (unit.budget_random compares the order with that of a sequential budget.) */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { KINDS = 3, HIGHEST = 12 };

static struct {
  volt_budget budget;
  VOLT_ATOMIC(uint64_t) held[KINDS]; /* by the threads' own books */
  bool limits_change;
  uint32_t bypass;
} shared;

static uint64_t any_amount(stress_worker *w) {
  return stress_below(w, 3) == 0 ? 0 : stress_below(w, 1 + HIGHEST / 2);
}

static void draw_need(stress_worker *w, volt_amounts *need) {
  memset((void *)need, 0, sizeof *need);
  for (unsigned i = 0; i < KINDS; i++)
    need->of[i] = stress_below(w, 16) == 0 ? HIGHEST / 2 : any_amount(w);
}

static void took(stress_worker *w, const volt_amounts *need) {
  for (unsigned i = 0; i < KINDS; i++) {
    uint64_t held = volt_fetch_add_acq_rel(&shared.held[i], need->of[i]) + need->of[i];
    STRESS_CHECK(held <= HIGHEST);
  }
  w->acquired += 1;
}

static void give(const volt_amounts *amounts) {
  for (unsigned i = 0; i < KINDS; i++) {
    (void)volt_fetch_add_acq_rel(&shared.held[i], 0 - amounts->of[i]);
  }
  volt_budget_release(&shared.budget, amounts);
}

static void inspect(void) {
  volt_budget_state state;
  volt_budget_inspect(&shared.budget, &state);
  STRESS_CHECK(state.passed <= shared.bypass && state.counted <= state.waiters);
  for (unsigned i = 0; i < KINDS; i++) {
    const volt_budget_kind *kind = &state.of[i];
    STRESS_CHECK(kind->held <= HIGHEST && kind->aside <= kind->free &&
                 kind->waiters <= state.counted);
    STRESS_CHECK(kind->held + kind->free == kind->limit + kind->excess);
  }
}

/* All, or kind by kind. */
static void give_back(stress_worker *w, const volt_amounts *need) {
  for (uint32_t i = stress_below(w, 8); i > 0; i--) stress_dawdle(w);
  if (stress_below(w, 2) == 0) {
    give(need);
    return;
  }
  for (unsigned i = 0; i < KINDS; i++) {
    volt_amounts part = {{0}};
    part.of[i] = need->of[i];
    give(&part);
    stress_dawdle(w);
  }
}

static int by_waiter(stress_worker *w, const volt_amounts *asked) {
  volt_waiter *waiter = (volt_waiter *)calloc(1, sizeof *waiter);
  volt_amounts *need = (volt_amounts *)malloc(sizeof *need);
  stress_slot *slot = stress_any_slot(w);
  STRESS_CHECK(waiter != NULL && need != NULL);
  *need = *asked;
  int result = volt_budget_acquire_waiter(&shared.budget, waiter, need, stress_waker(slot));
  if (result == VOLT_PENDING) {
    if (stress_below(w, 4) == 0) {
      stress_slot *next = stress_any_slot(w);
      if (volt_waiter_set_waker(waiter, stress_waker(next))) slot = next;
    }
    for (uint32_t i = stress_below(w, 64); i > 0; i--) stress_dawdle(w);
    bool cancelled = volt_budget_cancel(&shared.budget, waiter);
    slot->expected += !cancelled;
    result = cancelled ? VOLT_ECANCELED : volt_waiter_result(waiter);
  }
  memset((void *)waiter, 0xa5, sizeof *waiter);
  memset((void *)need, 0xa5, sizeof *need);
  free(waiter);
  free(need);
  return result;
}

static int by_hand(stress_worker *w, volt_future *f) {
  static const volt_waker none = {NULL, NULL};
  int result = VOLT_PENDING;
  for (uint32_t i = stress_below(w, 64); i > 0 && result == VOLT_PENDING; i--) {
    result = volt_future_poll(f, none);
    stress_dawdle(w);
  }
  volt_future_cancel(f); /* changes nothing if it is ready; else it gives back */
  result = volt_future_poll(f, none);
  memset((void *)f, 0xa5, sizeof *f);
  return result;
}

static int acquire_one(stress_worker *w, const volt_amounts *need) {
  volt_future f;
  switch (stress_below(w, 5)) {
    case 0: return volt_budget_try_acquire(&shared.budget, need);
    case 1: return by_waiter(w, need);
    case 2: return by_hand(w, volt_budget_acquire_future(&f, &shared.budget, need));
    case 3:
      return volt_budget_acquire_until(&shared.budget, need,
                                       volt_deadline_ns(stress_below(w, 50000)));
    default: return volt_budget_acquire(&shared.budget, need);
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  stress_arm(w, 1, NULL, NULL);
  while (!stress_stopping()) {
    volt_amounts need;
    draw_need(w, &need);
    int result = acquire_one(w, &need);
    if (result == VOLT_OK) {
      took(w, &need);
      give_back(w, &need);
    } else {
      STRESS_CHECK(result == VOLT_EAGAIN || result == VOLT_ECANCELED || result == VOLT_ETIMEDOUT ||
                   result == VOLT_ECLOSED || (result == VOLT_EINVAL && shared.limits_change));
      w->gave_up += 1;
      if (result == VOLT_ECLOSED) return;
    }
    if (stress_below(w, 16) == 0) inspect();
    if (shared.limits_change && stress_below(w, 64) == 0) {
      uint64_t limit = HIGHEST / 3 + stress_below(w, HIGHEST - HIGHEST / 3 + 1);
      volt_budget_set_limit(&shared.budget, stress_below(w, KINDS), limit);
    }
    if (w->index == 0 && stress_below(w, 4000) == 0) volt_budget_close(&shared.budget);
    stress_progress(w, "acquire");
  }
  if (w->index == 0) volt_budget_close(&shared.budget);
}

static void round_of(unsigned turn) {
  static const uint64_t limits[KINDS] = {HIGHEST, HIGHEST, HIGHEST};
  static const uint32_t bypass[] = {0, 1, 4, VOLT_BUDGET_BYPASS_MAX};
  memset((void *)&shared.budget, 0xee, sizeof shared.budget);
  shared.bypass = bypass[turn % 4];
  volt_budget_init_bypass(&shared.budget, KINDS, limits, shared.bypass);
  shared.limits_change = turn % 3 == 2;
  stress_round(stress_threads(), 30000000, body, NULL);
  STRESS_CHECK(volt_budget_waiters(&shared.budget) == 0);
  for (uint32_t i = 0; i < KINDS; i++) {
    STRESS_CHECK(volt_budget_held(&shared.budget, i) == 0);
    STRESS_CHECK(volt_load_relaxed(&shared.held[i]) == 0); /* the threads have ended */
  }
  volt_budget_destroy(&shared.budget);
}

int main(void) {
  stress_begin("budget", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    round_of(turn);
  }
  return stress_end();
}
