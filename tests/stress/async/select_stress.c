/* select_stress.c: threads that wait for the first of several things, or for all of them: permits
 * of two semaphores, a mutex, a sleep, nested and with deadlines, blocked on, polled by hand, both
 * in turn, and given up, while others release, lock, and do the same. One thread drives the timers
 * on the real clock.
 *
 * The books: what has won is held once, what has lost was given back, in whatever instant it was
 * granted; each registration of a ctx gets one wake or one drop, and until it has, its thread does
 * not go on, so that one that is lost is seen by the watchdog. Memory is poisoned as soon as it is
 * the owner's again. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "ledger.h"

enum { POOLS = 2, PERMITS = 3, BRANCHES = 4, LOCK = POOLS, SLEEP = POOLS + 1 };

static struct {
  volt_sem pool[POOLS];
  ledger permits[POOLS];
  volt_mutex mutex;
  uint64_t locked; /* under the mutex */
  volt_timers timers;
  volt_parker parker;            /* of the thread that drives */
  VOLT_ATOMIC(uint32_t) working; /* threads that are not at their end */
} shared;

static uint64_t locked_by[STRESS_MAX_THREADS];

/* One wait, in memory of its own. Branch i: a pool, the lock, or the sleep; or NULL. */
typedef struct attempt {
  volt_future leaf[SLEEP];
  volt_sleep_op nap;
  volt_future *branches[BRANCHES];
  uint32_t want[POOLS];
  volt_select select;
  volt_join join;
  volt_timeout timeout;
} attempt;

/* Who polls by hand: a ctx that is registered, and told of each registration's end. */
typedef struct poller {
  volt_ctx ctx;
  VOLT_ATOMIC(uint32_t) told;
} poller;

static poller pollers[STRESS_MAX_THREADS];

/* ---- what is got is given back ---- */

static void use_branch(stress_worker *w, attempt *a, uint32_t i) {
  if (i < POOLS) {
    ledger_take(&shared.permits[i], a->want[i]);
    stress_dawdle(w);
    ledger_give(&shared.permits[i], a->want[i]);
    volt_sem_release(&shared.pool[i], a->want[i]);
  } else if (i == LOCK) {
    shared.locked += 1; /* not atomic: the lock must do */
    locked_by[w->index] += 1;
    volt_mutex_unlock(&shared.mutex);
  }
}

/* A branch that is ready was granted to us if it polls as VOLT_OK; none of the others may be. */
static void use_all(stress_worker *w, attempt *a, uint32_t only) {
  volt_waker nobody = {NULL, NULL};
  for (uint32_t i = 0; i < BRANCHES; i++) {
    if (!a->branches[i]) continue;
    int result = volt_future_poll(a->branches[i], nobody);
    STRESS_CHECK(result == VOLT_OK || result == VOLT_ECANCELED);
    if (result == VOLT_OK) {
      STRESS_CHECK(only == UINT32_MAX || only == i);
      use_branch(w, a, i);
    }
  }
}

/* ---- what is waited for ---- */

static uint64_t soon(stress_worker *w) {
  return volt_deadline_ns(stress_below(w, 100000));
}

/* Each branch takes part three times of four; one of those that do will be granted, sometime. */
static attempt *new_attempt(stress_worker *w) {
  attempt *a = (attempt *)malloc(sizeof *a);
  STRESS_CHECK(a != NULL);
  memset((void *)a, 0xee, sizeof *a);
  for (uint32_t i = 0; i < POOLS; i++) {
    a->want[i] = 1 + stress_below(w, PERMITS);
    a->branches[i] = volt_sem_acquire_future(&a->leaf[i], &shared.pool[i], a->want[i]);
  }
  a->branches[LOCK] = volt_mutex_lock_future(&a->leaf[LOCK], &shared.mutex);
  a->branches[SLEEP] = volt_sleep_future(&a->nap, &shared.timers, soon(w));
  uint32_t left = stress_below(w, SLEEP); /* never the sleep alone */
  for (uint32_t i = 0; i < BRANCHES; i++) {
    if (i != left && stress_below(w, 4) == 0) a->branches[i] = NULL;
  }
  return a;
}

static void end_attempt(attempt *a) {
  memset((void *)a, 0xa5, sizeof *a);
  free(a);
}

/* ---- by hand ---- */

static void tell(void *ctx) {
  volt_fetch_add_release(&((poller *)ctx)->told, 1);
}

static int poll_by_hand(stress_worker *w, volt_future *f) {
  poller *p = &pollers[w->index];
  uint32_t patience = stress_below(w, 2) == 0 ? UINT32_MAX : stress_below(w, 16);
  int result = VOLT_PENDING;
  for (; patience > 0 && result == VOLT_PENDING; patience--) {
    uint32_t told = volt_load_acquire(&p->told);
    p->ctx.yield = false;
    p->ctx.budget = 1 + stress_below(w, 3);
    result = volt_future_poll_ctx(f, &p->ctx);
    bool must_wait = result == VOLT_PENDING && !p->ctx.yield && patience > 16;
    while (must_wait && volt_load_acquire(&p->told) == told) stress_dawdle(w);
  }
  if (result == VOLT_PENDING) volt_future_cancel(f);
  return volt_future_poll_ctx(f, &p->ctx);
}

/* Nothing refers to the ctx any more, soon. */
static void settle(stress_worker *w) {
  poller *p = &pollers[w->index];
  while (volt_load_acquire(&p->told) != p->ctx.registered) stress_dawdle(w);
}

static int wait_for(stress_worker *w, volt_future *f, bool must_end) {
  uint32_t way = stress_below(w, 4);
  if (way == 0) return poll_by_hand(w, f);
  if (stress_below(w, 4) == 0) { /* every leaf moves from one waker to another, then */
    pollers[w->index].ctx.budget = stress_below(w, 3);
    (void)volt_future_poll_ctx(f, &pollers[w->index].ctx);
    stress_dawdle(w);
  }
  if (way == 1 && !must_end) return volt_future_wait(f);
  return volt_future_wait_until(f, soon(w));
}

static void account_for(stress_worker *w, int result, const char *doing) {
  STRESS_CHECK(result == VOLT_OK || result == VOLT_ECANCELED || result == VOLT_ETIMEDOUT);
  w->acquired += result == VOLT_OK;
  w->gave_up += result != VOLT_OK;
  stress_progress(w, doing);
}

/* ---- the ways to wait ---- */

static void select_one(stress_worker *w) {
  attempt *a = new_attempt(w);
  unsigned how = stress_below(w, 2) ? VOLT_SELECT_FAIR : VOLT_SELECT_BIASED;
  volt_future *f = volt_select_future(&a->select, a->branches, BRANCHES, how);
  if (stress_below(w, 4) == 0) {
    f = volt_timeout_future(&a->timeout, f, &shared.timers, soon(w));
  }
  int result = wait_for(w, f, false);
  uint32_t winner = volt_select_winner(&a->select);
  STRESS_CHECK((result == VOLT_OK) == (winner != UINT32_MAX));
  use_all(w, a, winner == UINT32_MAX ? BRANCHES : winner);
  end_attempt(a);
  account_for(w, result, "select");
}

/* One select after the other takes from the same branches, until none is left. */
static void select_and_keep(stress_worker *w) {
  attempt *a = new_attempt(w);
  for (;;) {
    volt_future_made(
        volt_select_future(&a->select, a->branches, BRANCHES, VOLT_SELECT_FAIR | VOLT_SELECT_KEEP));
    int result = poll_by_hand(w, &a->select.future);
    if (result != VOLT_OK) break;
    uint32_t winner = volt_select_winner(&a->select);
    use_branch(w, a, winner);
    a->branches[winner] = NULL;
    account_for(w, result, "select and keep");
  }
  for (uint32_t i = 0; i < BRANCHES; i++) {
    if (a->branches[i]) volt_future_cancel(a->branches[i]);
  }
  end_attempt(a);
}

/* Who has one and waits for another may wait for who does the reverse: with a deadline only. */
static void join_some(stress_worker *w) {
  attempt *a = new_attempt(w);
  volt_future_made(volt_join_future(&a->join, a->branches, BRANCHES,
                                    stress_below(w, 2) ? VOLT_JOIN_ALL : VOLT_JOIN_FAIL_FAST));
  volt_future_made(volt_timeout_future(&a->timeout, &a->join.future, &shared.timers, soon(w)));
  int result = wait_for(w, &a->timeout.future, stress_below(w, 2) == 0);
  use_all(w, a, UINT32_MAX);
  end_attempt(a);
  account_for(w, result, "join");
}

static void work(stress_worker *w) {
  volt_select_seed(stress_below(w, UINT32_MAX));
  while (!stress_stopping()) {
    switch (stress_below(w, 8)) {
      case 0: select_and_keep(w); break;
      case 1:
      case 2: join_some(w); break;
      default: select_one(w); break;
    }
    settle(w);
    stress_dawdle(w);
  }
  if (volt_fetch_add_release(&shared.working, UINT32_MAX) == 1) volt_unpark(&shared.parker);
}

static void wake_driver(void *ctx) {
  volt_unpark((volt_parker *)ctx);
}

static void drive(stress_worker *w) {
  uint32_t seen = 0; /* unparks */
  for (;;) {
    (void)volt_timers_expire(&shared.timers, volt_now_ns());
    bool over = volt_load_acquire(&shared.working) == 0;
    uint64_t earliest_ns = volt_timers_earliest_ns(&shared.timers);
    if (over && earliest_ns == VOLT_NO_DEADLINE) return;
    if (volt_park_until(&shared.parker, seen + 1, earliest_ns) == VOLT_OK) seen += 1;
    stress_progress(w, "drive");
  }
}

static void body(stress_worker *w, void *arg) {
  (void)arg;
  if (w->index == 0) {
    drive(w);
  } else {
    work(w);
  }
}

static void round_of(unsigned threads) {
  volt_waker driver = {wake_driver, &shared.parker};
  volt_timers_init(&shared.timers, driver);
  volt_store_relaxed(&shared.parker.word, 0); /* all of it is published by the threads' start */
  volt_store_relaxed(&shared.working, threads - 1);
  volt_mutex_init(&shared.mutex);
  shared.locked = 0;
  memset(locked_by, 0, sizeof locked_by);
  for (int i = 0; i < POOLS; i++) {
    volt_sem_init(&shared.pool[i], PERMITS);
    ledger_init(&shared.permits[i], PERMITS);
  }
  for (unsigned i = 0; i < threads; i++) {
    volt_waker waker = {tell, &pollers[i]};
    pollers[i].ctx = (volt_ctx)VOLT_CTX_INIT(waker);
    pollers[i].ctx.drop = tell;
    pollers[i].ctx.budget = 0;
    volt_store_relaxed(&pollers[i].told, 0);
  }
  stress_round(threads, 30000000, body, NULL);
  for (unsigned i = 0; i < threads; i++) shared.locked -= locked_by[i];
  STRESS_CHECK(shared.locked == 0 && !volt_mutex_is_locked(&shared.mutex));
  for (int i = 0; i < POOLS; i++) {
    STRESS_CHECK(ledger_held(&shared.permits[i]) == 0);
    STRESS_CHECK(volt_sem_available(&shared.pool[i]) == PERMITS);
    STRESS_CHECK(volt_sem_waiters(&shared.pool[i]) == 0);
    volt_sem_destroy(&shared.pool[i]);
  }
  volt_mutex_destroy(&shared.mutex);
  volt_timers_destroy(&shared.timers);
}

int main(void) {
  stress_begin("select, join, timeout, sleep", NULL, NULL);
  for (unsigned turn = 0; stress_time_left(); turn++) {
    round_of(2 + turn % (stress_threads() - 1));
  }
  return stress_end();
}
